"""Medians of the angles in J_+ that the paper prints in Tables 1 to 3, in degrees, m = 200, five draws.

Of Table 3 one scale is taken. Tables 7 to 12 are of dimension 1024, in which nothing is trained here.
"""

from __future__ import annotations

from dataclasses import dataclass

DIMENSIONS = (4, 16, 64, 256, 1024)
WIDTH = 200


@dataclass(frozen=True)
class PublishedMedians:
    """One table of App. E: power k of the scale 4^-k to one median for each dimension."""

    number: int
    rows: dict[int, tuple[float, ...]]

    def at(self, power: int, sizes: tuple[tuple[int, int], ...]) -> tuple[float, ...] | None:
        """The paper's medians for pairs of dimension and width at the scale 4^-power; None where it has not all.

        >>> LARGEST_ANGLE["centred"].at(8, ((4, 200), (64, 200)))
        (0.1371, 0.05473)
        """
        row = self.rows.get(power)
        if row is None or any(d not in DIMENSIONS or width != WIDTH for d, width in sizes):
            return None
        return tuple(row[DIMENSIONS.index(d)] for d, _ in sizes)


LARGEST_ANGLE = {
    "centred": PublishedMedians(
        1,
        {
            0: (164.4, 133.6, 112.2, 103.7, 86.95),
            4: (31.06, 77.97, 13.91, 53.04, 0.4796),
            8: (0.1371, 0.4793, 0.05473, 0.2241, 0.001874),
            12: (5.356e-4, 1.873e-3, 2.138e-4, 8.753e-4, 7.636e-6),
        },
    ),
    "uncentred": PublishedMedians(
        2,
        {
            0: (164.1, 132.4, 110.1, 100.4, 95.07),
            4: (1.350, 9.250, 21.29, 21.02, 90.31),
            8: (0.005264, 0.03557, 0.08370, 0.08290, 0.7186),
            12: (2.056e-5, 1.389e-4, 3.269e-4, 3.238e-4, 2.807e-3),
        },
    ),
}
AVERAGE_ANGLE = {"centred": PublishedMedians(3, {8: (8.199e-3, 1.186e-2, 2.520e-3, 5.985e-3, 9.180e-4)})}
