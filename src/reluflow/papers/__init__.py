"""The figures and tables of the papers, redrawn with their claims asserted; one folder per paper.

`registry` lists and finds them without loading anything heavy, `reproduction` runs them, `gallery` and `claims_table`
show what came out.
"""
