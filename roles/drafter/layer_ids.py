"""Which of the target's layers a DFlash drafter listens to, by the rule that its authors trained with."""


def predicted(target_layers: int, count: int) -> tuple[int, ...] | None:
    """The ids (0-based, output of layer i) for `count` layers of a target with `target_layers`; None where undefined.

    z-lab/dflash, model.py, build_target_layer_ids: first 1, last L-3, evenly between; a single one is in the middle.
    It reproduces every published DFlash drafter, and none of the DFlash2 and DSpark family. A proposal, never a proof.
    """
    if count < 1 or target_layers < 4 or count > target_layers:
        return None
    if count == 1:
        return (target_layers // 2,)
    return tuple(round(1 + index * (target_layers - 4) / (count - 1)) for index in range(count))
