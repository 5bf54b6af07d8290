"""SkillExecBench, rebuilt from arXiv 2608.26263: worlds, runtimes, readers, experiments. No model is needed."""
