"""Keys of settings that have to do with an activation, with the family of a model, or with half precision."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import cache

#: Keys that hold the name of an activation, in configurations of transformers 5.24.0 and of other libraries.
ACTIVATION_KEYS = frozenset(
    (
        *("hidden_act", "hidden_activation", "activation_function", "activation", "activation_fn", "act_fn", "act"),
        *("act_layer", "feed_forward_proj", "dense_act_fn", "projector_hidden_act", "projection_hidden_act"),
        *("encoder_activation_function", "decoder_activation_function", "encoder_hidden_act", "decoder_hidden_act"),
        *("feat_extract_activation", "pooler_hidden_act", "pooler_act", "ffn_act_fn", "mlp_hidden_act"),
        *("mlp_activation_function", "memory_fuser_hidden_act", "mask_downsampler_hidden_act", "classifier_activation"),
        *("memory_attention_mlp_hidden_act", "summary_activation", "mlp_activation", "activation_type", "nonlinearity"),
    )
)
#: Keys that name the class, in the order in which they count.
CLASS_KEYS = ("_target_", "architectures", "_class_name", "class_name", "name")
#: Keys of families and versions, of objects that a configuration builds, and of half precision.
_FAMILY_KEYS = ("model_type", "architectures", "_class_name", "transformers_version", "_name_or_path", "auto_map")
_TARGET_KEYS = ("_target_", "_partial_", "_args_", "approximate", "class_path", "init_args", "target", "params")
_HALF_KEYS = (
    *("fp16", "bf16", "half", "mixed_precision", "precision", "enabled", "torch_dtype", "dtype", "amp", "amp_dtype"),
    *("use_fp16", "fp16_full_eval", "fp16_enabled"),
)
KEYS = ACTIVATION_KEYS.union(CLASS_KEYS, _FAMILY_KEYS, _TARGET_KEYS, _HALF_KEYS)

#: Methods that make settings or models of transformers of their keywords, and the function of timm that does.
LOADERS = ("from_pretrained", "for_model", "from_dict")
MAKER = "create_model"

#: Tables, and functions that look into one, by the registry that each is: read in transformers 5.24.0, timm 1.0.31,
#: diffusers 0.42.1 and keras 3.15.1.
_TABLES = (
    ("transformers", ("transformers.activations.",), ("ACT2FN", "ACT2CLS", "get_activation")),
    ("timm", ("timm.layers.", "timm.models.layers."), ("get_act_layer", "get_act_fn", "create_act_layer")),
    ("diffusers", ("diffusers.models.activations.",), ("get_activation", "ACT2CLS", "ACTIVATION_FUNCTIONS")),
    ("torch_encoder", ("torch.nn.modules.transformer.",), ("_get_activation_fn",)),
    ("keras", ("keras.activations.", "tensorflow.keras.activations.", "tf_keras.activations."), ("get",)),
)


@cache
def tables() -> dict[str, dict[str, str]]:
    """The registry that a table is, by its last name and then by its full one."""
    found: dict[str, dict[str, str]] = {}
    for registry, modules, names in _TABLES:
        for name in names:
            found.setdefault(name, {}).update((module + name, registry) for module in modules)
    return found


def is_nearly_approximate(key: str) -> bool:
    """Whether a key looks like ``approximate`` misspelled."""
    low = key.lower()
    if key == "approximate" or low[:1] != "a" or not 6 <= len(key) <= 14:
        return False
    return low.startswith("approx") or SequenceMatcher(None, low, "approximate").ratio() >= 0.8
