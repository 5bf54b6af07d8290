"""Names of everything: types, schemas, merge, bounds, redaction. No I/O, no clock, no randomness."""
