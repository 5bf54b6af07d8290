"""A rule-based agent for maintenance tasks in Python and JavaScript: it knows rules of the languages, and nothing
of any repository.

It reads one prompt and answers with one transition. The goal says which rule is meant, the worklist says where, and
what stands there it sees in views and observations alone. Where the state has a field `view` it keeps open what it
works on; where it has none it reads ranges, again whenever they are needed. Everything else is the same.
"""
