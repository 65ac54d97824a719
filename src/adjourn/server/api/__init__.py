"""The operations of the API, one module for each noun, and the table of all of them."""
