"""The vocabularies that this server speaks."""
