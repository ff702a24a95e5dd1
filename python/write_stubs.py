"""Writes locus_bandits/_policies.pyi, the types of the policies' classes, from the library's table of settings."""

from __future__ import annotations

from pathlib import Path

import locus_bandits as lb
from locus_bandits._policies import annotation, class_name, literal

HEADER = '''\
# Written by write_stubs.py from the library's table of settings.
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ._policy import BasePolicy, SettingInfo
'''


def stub() -> str:
    """The whole file."""
    names = [class_name(info["id"]) for info in lb.policies()]
    lines = [HEADER, "__all__ = ["]
    lines += [f'    "{name}",' for name in names]
    lines += ["]", "", "def class_name(policy_id: str) -> str: ...", "def literal(words: Sequence[str]) -> str: ..."]
    lines += ["def annotation(setting: SettingInfo) -> str: ..."]
    for info in lb.policies():
        lines += ["", f"class {class_name(info['id'])}(BasePolicy):", "    policy_id: str", "    def __init__("]
        lines += ["        self,", "        *,", "        n_features: int,", "        n_actions: int | None = None,"]
        lines += ["        n_action_features: int | None = None,"]
        lines += ["        seed: int = 0,", "        random_state: int | None = None,"]
        lines += [f'        preset: {literal(info["presets"])} = "{info["presets"][0]}",']
        for setting in info["settings"]:
            lines.append(f"        {setting['key']}: {annotation(setting)} = None,")
        lines += ["    ) -> None: ...", "    def _text(self, params: Mapping[str, Any]) -> str: ..."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("locus_bandits").joinpath("_policies.pyi").write_text(stub(), encoding="utf-8")
