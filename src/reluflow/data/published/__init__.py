"""The exact point sets of the papers, one module per paper key; those known by a name of their own are here too."""

from reluflow.data.published import boursier2024, chistikov2023, lee2022, lyu2021, lyu2021_hinted, min2024, phuong2021
from reluflow.data.published.boursier2024 import (
    stewart,
    stewart_digitised,
    stewart_teacher,
    three_point_box,
    three_point_box_worst,
    three_points,
)
from reluflow.data.published.lyu2021_hinted import hinted
from reluflow.data.published.min2024 import min_toy, two_points
from reluflow.data.published.phuong2021 import filtered_orthants, phuong_dead_cone, phuong_toy

__all__ = [
    "boursier2024",
    "chistikov2023",
    "filtered_orthants",
    "hinted",
    "lee2022",
    "lyu2021",
    "lyu2021_hinted",
    "min2024",
    "min_toy",
    "phuong2021",
    "phuong_dead_cone",
    "phuong_toy",
    "stewart",
    "stewart_digitised",
    "stewart_teacher",
    "three_point_box",
    "three_point_box_worst",
    "three_points",
    "two_points",
]
