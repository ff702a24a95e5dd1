"""One class for each policy, made from the library's own table of settings."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _core
from ._policy import BasePolicy, PolicyInfo, SettingInfo, setting_text

__all__: list[str] = []

# The annotations of the classes name it.
_ = Literal


def class_name(policy_id: str) -> str:
    """``lu-gauss`` is ``LuGauss``."""
    return "".join(part.capitalize() for part in policy_id.split("-"))


def literal(words: Sequence[str]) -> str:
    """The type of values that are words."""
    return f"Literal[{', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}]"


def annotation(setting: SettingInfo) -> str:
    """The type of a setting's values; None stands for the preset's value."""
    expected = setting["expected"]
    if expected.startswith("one of "):
        words = expected.removeprefix("one of ").replace("`", "").split()
        return "bool | None" if words == ["on", "off"] else f"{literal(words)} | None"
    if expected.startswith("a whole number") and expected.endswith("or all"):
        return 'int | Literal["all"] | None'
    if expected.startswith("a whole number"):
        return "int | None"
    if expected.startswith("layer sizes"):
        return "Sequence[int] | str | None"
    if expected.startswith("a number"):
        return "float | None"
    raise TypeError(f"the setting {setting['key']} takes {expected}, which has no type in Python")


def _default(setting: SettingInfo) -> str:
    values = setting["defaults"]
    if annotation(setting) == "bool | None":
        values = {preset: str(value == "on") for preset, value in values.items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(f"{value} ({preset})" for preset, value in values.items())


def _expected(setting: SettingInfo) -> str:
    """The values of a setting, in words."""
    kind = annotation(setting)
    if kind == "bool | None":
        return "a bool"
    if kind.startswith("Literal"):
        return kind.removeprefix("Literal[").split("]")[0]
    return setting["expected"]


def _doc(info: PolicyInfo) -> str:
    lines = [info["summary"][:1].upper() + info["summary"][1:] + ".", ""]
    lines += ["Every setting is a keyword; None stands for the preset's value.", "", "Parameters", "----------"]
    lines += ["n_features : int", "    The number of features of a context."]
    lines += ["n_actions : int", "    The number of actions."]
    lines += ["n_action_features : int", "    In place of it, the number of features of an action; decisions then bring ``candidates``."]
    lines += ["seed : int, default 0", "    The random seed; ``random_state`` is another name of it."]
    presets = f"One of {', '.join(info['presets'])}." if len(info["presets"]) > 1 else "The only preset."
    lines += [f"preset : str, default {info['presets'][0]!r}", f"    {presets}"]
    for setting in info["settings"]:
        lines.append(f"{setting['key']} : {_expected(setting)}, default {_default(setting)}")
        lines.append(f"    {setting['doc'].rstrip('.')}. Default from: {setting['source']}.")
    return "\n".join(lines)


def _make(info: PolicyInfo) -> type[BasePolicy]:
    keys = tuple(setting["key"] for setting in info["settings"])

    def __init__(self: BasePolicy, **given: Any) -> None:
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        params = dict(bound.arguments)
        del params["self"]
        self._init(params, params.pop("random_state"))

    def _text(self: BasePolicy, params: Mapping[str, Any]) -> str:
        settings = [f"{key}={setting_text(params[key])}" for key in keys if params[key] is not None]
        return f"{info['id']}@{params['preset']}[{','.join(settings)}]"

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        inspect.Parameter("n_features", keyword, annotation="int"),
        inspect.Parameter("n_actions", keyword, default=None, annotation="int | None"),
        inspect.Parameter("n_action_features", keyword, default=None, annotation="int | None"),
        inspect.Parameter("seed", keyword, default=0, annotation="int"),
        inspect.Parameter("random_state", keyword, default=None, annotation="int | None"),
        inspect.Parameter("preset", keyword, default=info["presets"][0], annotation=literal(info["presets"])),
    ]
    for setting in info["settings"]:
        parameters.append(inspect.Parameter(setting["key"], keyword, default=None, annotation=annotation(setting)))
    signature = inspect.Signature(parameters)
    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{class_name(info['id'])}.__init__"
    members = {
        "__doc__": _doc(info),
        "__init__": __init__,
        "__module__": "locus_bandits",
        "_text": _text,
        "policy_id": info["id"],
    }
    return type(class_name(info["id"]), (BasePolicy,), members)


for _info in _core.policies():
    __all__.append(class_name(_info["id"]))
    globals()[class_name(_info["id"])] = _make(_info)
