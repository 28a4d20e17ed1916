"""Medians over five draws that the paper prints of angles in J_+, in degrees: those of its numbers known here.

They are four of the sixteen scales of Tables 1 and 2 and one of each of Tables 3, 7 and 8. The other scales of these
tables, and Tables 4 to 6 and 9 to 12, are not known here, so that nothing is compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

BY_DIMENSION = tuple((d, 200) for d in (4, 16, 64, 256, 1024))  # d and m
BY_WIDTH = tuple((1024, width) for width in (25, 50, 200))


@dataclass(frozen=True)
class PublishedMedians:
    """One table of App. E: power k of the scale 4^-k to one median for each pair of dimension and width.

    `doubts` says, by the same power, what is doubtful about a number.
    """

    number: int
    sizes: tuple[tuple[int, int], ...]
    rows: dict[int, tuple[float, ...]]
    doubts: dict[int, str] = field(default_factory=dict)

    def of(self, power: int, sizes: Sequence[tuple[int, int]]) -> dict[int, float]:
        """The paper's medians at the scale 4^-power by places in `sizes`, pairs of dimension and width; those it has.

        >>> LARGEST_ANGLE["centred"].of(8, ((4, 200), (5, 200), (64, 200)))
        {0: 0.1371, 2: 0.05473}
        """
        row = dict(zip(self.sizes, self.rows.get(power, ()), strict=False))
        return {place: row[size] for place, size in enumerate(sizes) if size in row}


LARGEST_ANGLE = {
    "centred": PublishedMedians(
        1,
        BY_DIMENSION,
        {
            0: (164.4, 133.6, 112.2, 103.7, 86.95),
            4: (31.06, 77.97, 13.91, 53.04, 0.4796),
            8: (0.1371, 0.4793, 0.05473, 0.2241, 0.001874),
            12: (5.356e-4, 1.873e-3, 2.138e-4, 8.753e-4, 7.636e-6),
        },
    ),
    "uncentred": PublishedMedians(
        2,
        BY_DIMENSION,
        {
            0: (164.1, 132.4, 110.1, 100.4, 95.07),
            4: (1.350, 9.250, 21.29, 21.02, 90.31),
            8: (0.005264, 0.03557, 0.08370, 0.08290, 0.7186),
            12: (2.056e-5, 1.389e-4, 3.269e-4, 3.238e-4, 2.807e-3),
        },
    ),
}
AVERAGE_ANGLE = {"centred": PublishedMedians(3, BY_DIMENSION, {8: (8.199e-3, 1.186e-2, 2.520e-3, 5.985e-3, 9.180e-4)})}
LARGEST_ANGLE_BY_WIDTH = {
    "centred": PublishedMedians(7, BY_WIDTH, {8: (9.147e-4, 1.552e-3, 1.874e-3)}),
    "uncentred": PublishedMedians(
        8,
        BY_WIDTH,
        {8: (1.874e-3, 2.734e-3, 0.7186)},
        {8: "The median for $m = 25$ repeats that of Table 7 for $m = 200$, perhaps by a mix-up (erratum E15)."},
    ),
}
