"""What may only lead to *ask* or *deny*: everything that can be found in a line, however it is written."""
