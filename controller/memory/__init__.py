"""What a run knew, did and saw, to be asked: built from its audit and artifacts when the first question comes."""
