"""A study as plain JSON values: the numbers inside the report and on `reluflow study --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from reluflow.plain_values import plain
from reluflow.study.whole_study import Study


def as_json(found: Study) -> dict[str, Any]:
    """The numbers of a study; what is not a finite number becomes null."""
    data = found.dataset
    values: dict[str, Any] = {
        "dataset": {"name": data.name, "n": data.n, "d": data.d, "task": str(data.task)}
        | ({} if data.num_outputs == 1 else {"outputs": data.num_outputs}),
        **({} if data.classes is None else {"classes": list(data.classes)}),
        "loss": {"name": found.loss.name, "reduction": found.loss.reduction, "factor": found.loss.factor},
        "notes": list(found.notes),
        "leak": found.leak,
        "complete": not found.pending,
        "start": {
            "init": "given" if found.is_given else found.initialization.name,
            "width": found.width,
            "scale": found.scale,
            "seed": found.seed,
        }
        | ({} if found.output_bias == "none" else {"output_bias": found.output_bias}),
        "verdict": found.verdict(),
        "summary": found.sentences(),
        "cut_short": [asdict(part) for part in found.cuts],
        "conditions": _conditions(found),
        "theorems": _theorems(found),
        "extremal": _extremal(found),
        "alignment": None if found.alignment is None else {"counts": found.alignment.counts},
        "forecast": _forecast(found),
        "step_size": None if found.descent is None else found.descent.as_json(),
        "scales": [
            {
                "theorem": a.theorem,
                "log_asked": a.log_asked,
                "log_shown": a.log_shown,
                "log_used": a.log_used,
                "met": a.is_met,
            }
            for a in found.advice
        ],
        "flow": _flow(found),
        "groups": [
            {
                "name": g.name,
                "sign": g.sign,
                "neurons": g.size,
                "share": g.share,
                "direction": g.direction,
                "active_samples": g.num_active,
            }
            | ({} if g.output is None else {"output": g.output})
            for g in found.groups
        ],
        "verdicts": [
            a.verdict.as_json()
            if a.verdict is not None
            else {"theorem": a.theorem.key, "verdict": None, "why": a.sentence}
            for a in found.answers
        ],
        "sensitivity": [
            {
                "seed": v.seed,
                "scale": v.scale,
                "outcome": v.outcome,
                "kind": v.kind,
                "loss": v.loss,
                "margin": v.margin,
                "bundles": v.num_bundles,
                "difference": v.difference,
                "same_function": v.ends_in_same_function,
                "same_story": v.ends_in_same_function,  # its name in version 0.2, to go with 0.4
            }
            for v in found.variations
        ],
        "open_questions": list(found.open_questions),
    }
    return {key: plain(value) for key, value in values.items()}


def _conditions(found: Study) -> list[dict[str, Any]]:
    if found.diagnosis is None:
        return []
    return [
        {"key": c.key, "paper": c.paper, "holds": c.holds, "margin": c.margin, "detail": c.detail}
        for c in found.diagnosis.conditions
    ]


def _theorems(found: Study) -> list[dict[str, Any]]:
    if found.diagnosis is None:
        return []
    return [{"key": t.key, "applicable": t.applicable, "why": t.why} for t in found.diagnosis.theorems]


def _extremal(found: Study) -> dict[str, Any] | None:
    if found.extremal is None:
        return None
    extremal = found.extremal
    return {
        "exact": extremal.exact,
        "vectors": extremal.vectors,
        "norms": extremal.norms,
        "kinds": list(extremal.kinds),
    }


def _forecast(found: Study) -> dict[str, Any] | None:
    if found.process is None:
        return None
    process = found.process
    return {
        "jumps": [
            {
                "clock": jump.clock,
                "loss_before": jump.loss_before,
                "loss_after": jump.loss_after,
                "neurons": list(jump.neurons),
            }
            for jump in process.jumps
        ],
        "end": {"loss": process.loss, "kind": process.kind},
        "exact": process.is_exact,
        "why": process.why or None,
    }


def _flow(found: Study) -> dict[str, Any] | None:
    if found.flow is None:
        return None
    trajectory, limit = found.flow.trajectory, found.flow.limit
    certificate = limit.certificate
    return {
        "outcome": trajectory.outcome.code,
        "time": trajectory.time,
        "log_time": trajectory.log_time,
        "loss": trajectory.loss,
        "predictions": trajectory.predictions,
        "steps": trajectory.steps,
        "crossings": trajectory.crossings,
        "slides": trajectory.slides,
        "phases": [{"name": p.name, "start": p.start, "end": p.end} for p in trajectory.phases],
        "descent": None if found.flow.descent is None else asdict(found.flow.descent),
        "limit": {
            "kind": str(certificate.kind),
            "proof": limit.is_proof,
            "ignored": list(certificate.ignored),
            "residuals": certificate.residuals,
            **({} if trajectory.problem.has_single_output else {"multipliers": certificate.multipliers}),
            "margin": certificate.margin,
            "best_linear_margin": certificate.best_linear_margin,
            "global_margin": certificate.global_margin,
            "reason": limit.reason,
        },
    }
