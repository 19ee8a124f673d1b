"""What may lead to *allow*: a literal line, and programs and options that are listed as only reading.

Knows nothing of what the scan reads: a contract of the imports sees to that.
"""
