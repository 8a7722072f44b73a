"""Words of READMEs: what says which GELU a project has, and what is about something else."""

from __future__ import annotations

#: Names that say which GELU they are ("" for none), in lower case and without what joins their words.
NAMES = {
    **dict.fromkeys(("gelu", "gelus", "geglu", "gaussianerrorlinearunit", "gaussianerrorlinearunits"), ""),
    **dict.fromkeys(("quickgelu", "geluquick", "quickgeluactivation"), "quick"),
    **dict.fromkeys(("gelunew", "newgelu", "newgeluactivation", "gelupytorchtanh", "pytorchgelutanh"), "tanh"),
    **dict.fromkeys(("gelutanh", "tanhgelu", "gelupythontanh", "gelufast"), "tanh"),
    **dict.fromkeys(("geluerf", "erfgelu", "exactgelu", "geluexact", "gelupython"), "erf"),
}

APPROXIMATION = r"approx(?:\.|imat\w+)?"
#: Patterns of words around a GELU that say which it is.
FLAVOURS = (
    ("tanh", rf"\btanh[\s-]?(?:{APPROXIMATION}|based|form\b|formula\w*|version|variant|近似)"),
    ("tanh", rf"\b{APPROXIMATION}\s*(?:=|with|by|via|using|form of)?\s*(?:the\s+)?['\"“]?tanh\b"),
    ("tanh", r"\((?:the\s+)?tanh\)|（tanh）|\bapproximate\s*=\s*True\b"),
    ("tanh", r"\btanh(?=[\s-]GELU\b)|(?<=GELU[\s-])tanh(?![\w(])|\btanh\(\s*(?:sqrt|√|0\.79)"),
    ("erf", r"\berf(?:\b|[\s-]?(?:based|form|version|variant))|\bexact\b|\berror[\s-]function\b|精确"),
    ("erf", r"\bapproximate\s*=\s*(?:['\"“]?none\b|False\b)|x\s*[·*⋅]?\s*(?:Φ|Phi|cdf)\("),
    ("quick", r"\b1\.702|\bquick\b|\bsigmoid[\s-]?approx\w*"),
    ("silu", r"\b(?:sigmoid|σ)\(\s*x\s*\)|\bSiLU\b"),
)

#: Other activations: where one stands beside a GELU, more than one function is spoken of.
ACTIVATIONS = (
    *(r"(?:leaky\s?|squared\s)?re-?lu6?", r"[sce]?elu", "mish", "softmax", "softplus", "silu", "swish"),
    *(r"(?:swi|re|si)?glu", r"sigmoid(?!\s*\(|[\s-]approx)", r"linear activation"),
)

#: What is said before the name of a GELU and belongs to it.
ADJECTIVES = frozenset(
    (
        *("the", "a", "an", "exact", "standard", "plain", "vanilla", "regular", "true", "erf", "tanh", "quick"),
        *("approx", "approximate", "approximated", "approximation", "approximating", "based", "form", "version"),
        *("variant", "sigmoid", "of", "and", "error", "function"),
    )
)  # fmt: skip

#: What stands before a colon or in the first cell of a row where the value is an activation.
LABELS = (
    *(r"activations?(?:[\s_](?:functions?|fn|layer))?", r"non-?linearit(?:y|ies)", r"hidden_act(?:ivation)?"),
    *("act_fn", "act_layer", "act", "激活函数"),
)
#: Words of a label that speak of all of the model; with others it is about a part of it.
WHOLE = frozenset(
    (
        *("the", "a", "default", "main", "our", "model", "ffn", "mlp", "hidden", "feed-forward", "feedforward"),
        *("layer", "layers", "activation", "activations", "function", "functions", "fn", "nonlinearity"),
        *("non-linearity", "act", "hidden_act", "hidden_activation", "activation_function", "act_fn", "act_layer"),
        *("activation_layer", "activation_fn", "激活函数", "in", "all", "blocks", "block", "used", "type"),
    )
)
#: Headings of columns that hold what is, beside labels.
VALUE_COLUMNS = (
    *("values?", "settings?", "choices?", "defaults?", "details?", r"spec\w*", "ours", r"config\w*"),
    r"this (?:repo\w*|work|model|project)",
)

#: Titles of sections about the model.
ARCHITECTURE = (
    *("architectur", "model", "design", "network", "configuration", "specification", "details", "hyper-?param"),
    *("架构", "结构"),
)
#: Words in titles of sections that tell of others, of choices or of the past.
ELSEWHERE = (
    *("related", "prior work", r"compar\w*", r"vs\.?", "versus", "baselines?", r"change\s?log", "changes", "releases?"),
    *("what.s new", "news", "history", r"road\s?map", r"to\s?do", "future", "references?", "citations?", "citing"),
    *("bibliography", r"acknowledg\w*", "credits", "faq", r"troubleshoot\w*", r"migrat\w*", r"previous\w*", "legacy"),
    *("deprecated", "alternatives?", "ablations?", "experiments?", "benchmarks?", "results?", "performance"),
    *("background", "glossary", "others?", "examples?", "usage", r"quick\s?start", "getting started", "api"),
    *("options?", "supported", "available", "activations", r"improve\w*", "before", "old", "new", "notes?", "why"),
    *("tutorials?", "theory", "licen[cs]e", r"contribut\w*", "tests?", "testing"),
)
#: What a sentence sets itself off from.
CONTRAST = (
    *("unlike", "instead of", "rather than", "as opposed to", "in contrast (?:to|with)", "compared (?:to|with)"),
    *("contrary to", "whereas", "while", "versus", r"vs\.?(?=\s)", "in place of", "different from", "differs from"),
    *("as against", "but not", "and not", "not the", "like", "following", "as in", "same as", r"similar(?:ly)? to"),
    *("just as", "as does", "as do"),
)
#: All that may stand between a GELU and the word that says which it is, and what may follow such a word.
CLOSE = frozenset(
    (
        *("gelu", "gelus", "geglu", "gaussian", "error", "linear", "unit", "units", "erf", "exact", "tanh", "quick"),
        *("quickgelu", "sigmoid", "approx", "approximate", "approximated", "approximation", "form", "formula", "based"),
        *("version", "variant", "function", "activation", "activations", "the", "a", "an", "in", "its", "with"),
        *("using", "of", "via", "by", "nn", "f", "torch", "functional", "none", "true", "false", "jax", "x", "phi"),
        *("cdf", "i", "e", "aka", "not", "no", "without", "implementation", "uses", "is", "computes"),
    )
)
FOLLOWING = frozenset(
    (
        *("gelu", "gelus", "form", "formula", "version", "variant", "approximation", "activation", "activations"),
        *(
            "function",
            "functions",
            "nonlinearity",
            "nonlinearities",
            "throughout",
            "everywhere",
            "here",
            "in",
            "for",
            "as",
        ),
    )
)
#: What takes back what was said before it.
LATER = frozenset(("before", "since", "until", "only", "unless", "whose", "where", "when", "if"))
#: Words that make a clause something else than what is.
DOUBT = (
    *("can", "could", "may", "might", "should", "would", "will", "shall", "must", "if", r"when\w*", "unless"),
    *(r"optional\w*", "options?", r"support\w*", "either", "whether", r"e\.g", "for example", "for instance"),
    *("such as", r"previous\w*", "formerly", "earlier", "originally", "original", "used to", "no longer"),
    *(r"tr(?:y|ied|ies)", r"compar\w*", "tests?", "tested", "papers?", "reference", "others?", "another", "baselines?"),
    *(r"ablation\w*", r"replac\w*", r"switch\w*", r"swap\w*", r"chang\w*", r"fix\w*", "bugs?", "wrong", r"convert\w*"),
    *(r"import\w*", r"load\w*", "pass", "set", "choose", r"select\w*", r"config\w*", "differs?", "difference"),
    *("between", "you", "your", "they", "their", "users?", "pretrained", "checkpoints?", "upstream", "old", "new"),
    *("future", r"plan\w*", "todo", "instead", "doesn.t", "don.t", "isn.t", "(?:do|does|is|are) not", "never"),
    *("faster", "slower", "than", r"experimental\w*", "legacy", "deprecated", "some", "most", "many", "often"),
    *("usually", "typically", "sometimes"),
)
#: Models, frameworks and parts of models: what is said of them is not said of all of this project.
FOREIGN = (
    *("bert", "roberta", r"gpt(?:-?\w+)?", "openai", "clip", "open_?clip", r"gemma\w*", r"llama\w*", "vit", "t5"),
    *("albert", "electra", "deit", "swin", "convnext", "mixer", r"hugging\s?face", "pytorch", "tensorflow", "jax"),
    *("flax", "keras", "timm", "whisper", r"wav2vec\w*", "siglip", "xlnet", "bloom", "falcon", "palm", "teacher"),
    *("student", "vision", "audio", "text", "image", "language", "decoder", "encoder", "projector", "tower", "head"),
)

VERBS = (
    *("is", "are", "uses?", "using", "employs?", "appl(?:y|ies)", "adopts?", "has", "have", "contains?", "computes?"),
    *("implements?", "relies on", "consists? of", "works? with", "comes? with", "runs?"),
)
#: What a clause may begin with before its subject.
LEADS = (
    *("by default", "internally", "here", "note that", "throughout", "accordingly", "and", "also"),
    *("in (?:all|every|each) (?:layers?|blocks?)", r"in this (?:model|project|repo\w*|work)"),
    *(r"for (?:the )?(?:activations?|non-?linearit\w+)", "as (?:the )?activation(?: function)?"),
    r"inside (?:the|each|every) \w+",
)
#: Parts that are in all of a model, and what a project calls itself.
PARTS = (
    *("mlps?", "ffns?", "feed-?forward(?: (?:layers?|blocks?|networks?|sublayers?))?", "blocks?", "layers?"),
    *("hidden layers?", "transformers?(?: blocks?)?", "activations?(?: functions?)?", "non-?linearit(?:y|ies)"),
)
PROJECTS = (
    *("model", "project", "repo", "repository", "implementation", "network", "net", "library", "package", "code"),
    *("architecture", "version", "port", "code ?base", "gelus?(?: implementation)?"),
)
ALWAYS = ("always", "all", "only", "itself", "internally", "everywhere", "throughout", "here", "consistently")
