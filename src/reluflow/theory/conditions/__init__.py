"""The data assumptions, one file per paper: each a function DatasetFacts -> Judgement."""
