"""A rule-based agent: it knows what Python 2, Python 3 and six mean, and nothing of any repository.

It reads one prompt and answers with one transition. What it knows of the files it has from the prompt alone:
a worklist says where, `read_files` and `search` show what stands there, the state says what was begun.
"""
