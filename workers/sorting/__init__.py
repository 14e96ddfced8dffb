"""How a text is sorted into a class, and which facts are found in it."""
