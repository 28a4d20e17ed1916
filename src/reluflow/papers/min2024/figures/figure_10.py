"""Figure 10: digits 3 and 8 of MNIST, trained as digits 0 and 1 in Figure 5.

Appendix A.4 shows the plots of Figure 5 for digits 3 and 8 and says nothing about them in words. The same order of
events is to be seen: alignment with the class sums, then growth and the fall of the loss, a stable rank below 2. These
digits are harder to distinguish, so everything takes longer and the alignment drops further in the end.

Black dots are the exact gradient flow from the same neurons. The quick size has 400 images and steps ten times as
large; iterations are counted in the paper's steps. The paper's own size takes about half an hour of one core.
"""

from __future__ import annotations

from reluflow.papers.min2024.figures.digits_figure import appendix_figure

FIGURE = appendix_figure("min2024/fig10", __doc__, (3, 8))
