"""What kind of file a path names, and whether the bytes of a file of that kind can matter at all."""

from __future__ import annotations

import os

from gelu_lint.patterns import lazy
from gelu_lint.screen import passes

#: Kinds by suffix. What has another suffix was named by somebody, and is Python to us.
_SUFFIXES = {
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".onnx": "graph",
    ".ipynb": "other",
    ".md": "other",
    ".rst": "other",
}
#: What a project says of itself, whatever the suffix.
_CAPITALS = ("README.md", "README.rst", "README.txt", "Readme.md", "Readme.rst", "ReadMe.md")
_README = ("readme", "readme.md", "readme.rst", "readme.txt")
_REQUIREMENTS = lazy(r"(?:^|/)requirements[^/]*(?:/[^/]*)?\.txt$")
_DECLARATIONS = ("pyproject.toml", "setup.cfg", "environment.yml", "environment.yaml")

#: JSON, YAML and TOML files that configure no model, by name or by the end of it.
_NO_CONFIG = (
    *("package.json", "package-lock.json", "composer.json", "tsconfig.json", "tokenizer.json", "vocab.json"),
    *("tokenizer_config.json", "preprocessor_config.json", "generation_config.json", "docker-compose.yml"),
    *("added_tokens.json", "special_tokens_map.json", ".index.json", ".schema.json", ".pre-commit-config.yaml"),
    *("poetry.toml", "cargo.toml", "pnpm-lock.yaml", "mkdocs.yml", "_toctree.yml"),
)
#: Operators of ONNX that a GELU has one of.
_OPERATORS = (b"Gelu", b"Erf", b"Tanh", b"Sigmoid", b"Exp")
#: GELU as a word of a name or value: translations are full of others, such as the Dutch for luck and sound.
_GELU = lazy(rb"gelu(?![a-z])")
#: The activation of a model, not those that training keeps or computes anew.
_ACTIVATION = lazy(rb"activation(?!_(?:checkpoint|offload))")
#: Words without one of which a README says nothing of an activation: their names, and what goes with them.
_SPOKEN = lazy(
    rb"gelu|geglu|gaussian error|activation|linearit|(?:relu|silu|swish|mish|elu|glu)(?![a-z])|%b" % "激活".encode()
)
#: Bytes from which on a file of settings is data rather than a configuration: it is passed over.
_LARGEST = 512_000

#: Kinds of files of settings, and how their names end; some of them hold other things, by name.
CONFIGS = ("json", "yaml", "toml")
SETTINGS = tuple(suffix for suffix, kind in _SUFFIXES.items() if kind in CONFIGS)

#: What a walk over a directory collects.
WALKED = (".py", *SETTINGS, ".onnx", *_README[1:], *_CAPITALS)


def kind_of(path: str) -> str:
    """python, json, yaml, toml, graph, prose (a README), declarations (what a project requires) or other (not read)."""
    if path.endswith(".py"):
        return "python"
    name = os.path.basename(path).lower()
    if name in _README:
        return "prose"
    if name in _DECLARATIONS or _REQUIREMENTS.search(path.replace(os.sep, "/").lower()):
        return "declarations"
    kind = _SUFFIXES.get(os.path.splitext(name)[1], "python")
    return "other" if kind in CONFIGS and name.endswith(_NO_CONFIG) else kind


def is_worth_reading(path: str) -> bool:
    """Whether a file is small enough to be settings, if that is what it is. Raises OSError."""
    return kind_of(path) not in CONFIGS or os.stat(path).st_size <= _LARGEST


def matters(path: str, data: bytes) -> bool:
    """Whether a file may hold anything that a rule speaks of: asked of its bytes, before they are decoded."""
    kind = kind_of(path)
    if kind == "python":
        return passes(data)
    if kind in CONFIGS:
        return _is_config(data.lower())
    return kind == "prose" or (kind == "graph" and any(name in data for name in _OPERATORS))


def speaks(data: bytes) -> bool:
    """Whether a README may say anything of an activation, or of us. One in another encoding may."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return _SPOKEN.search(data.lower()) is not None


def _is_config(lowered: bytes) -> bool:
    """Whether settings name a GELU, or a model whose family may want one."""
    if b"hidden_act" in lowered or (b"model_type" in lowered and _ACTIVATION.search(lowered) is not None):
        return True
    return b"gelu" in lowered and _GELU.search(lowered) is not None
