"""Rewriters that need no TensorFlow: phases, the factory, chains, and a converter that ends its process."""
import os
import shutil

from tfx.components.trainer.rewriting import apart, rewriter, rewriter_factory

SAVED, ANY = rewriter.ModelType.SAVED_MODEL, rewriter.ModelType.ANY_MODEL
assert [(t.name, t.value) for t in rewriter.ModelType] == [
    ("ANY_MODEL", 1),
    ("SAVED_MODEL", 2),
    ("TFLITE_MODEL", 3),
    ("TFJS_MODEL", 4),
]


def fails(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        return str(error)
    raise AssertionError("went through")


class Appender(rewriter.BaseRewriter):
    """Copies a model with a word more, and refuses in a phase."""

    def __init__(self, name, refuse=None):
        self._name, self.refuse, self.seen = name, refuse, None

    @property
    def name(self):
        return self._name

    def _pre_rewrite_validate(self, original_model):
        self.say_no("pre")

    def _rewrite(self, original_model, rewritten_model):
        self.say_no("rewrite")
        self.seen = original_model.model_type
        with open(os.path.join(original_model.path, "saved_model.pb")) as f:
            text = f.read()
        with open(os.path.join(rewritten_model.path, "saved_model.pb"), "w") as f:
            f.write(f"{text} {self._name}")

    def _post_rewrite_validate(self, rewritten_model):
        self.say_no("post")

    def say_no(self, phase):
        if self.refuse == phase:
            raise ValueError("no good")


os.mkdir("model")
with open("model/saved_model.pb", "w") as f:
    f.write("model")
os.mkdir("made")
model, made = rewriter.ModelDescription(SAVED, "model"), rewriter.ModelDescription(ANY, "made")

one = rewriter_factory.create_rewriter("appender", "one")
one.perform_rewrite(model, made)
assert open("made/saved_model.pb").read() == "model one"
for phase, words in {
    "pre": "one failed to perform pre-rewrite validation. Original model: ",
    "post": "one failed to validate rewritten model.",
    "rewrite": "one failed to rewrite model. Original model: ",
}.items():
    told = fails(ValueError, Appender("one", phase).perform_rewrite, model, made)
    assert told.startswith(words) and "no good" in told, told
fails(TypeError, rewriter.BaseRewriter)
assert fails(ValueError, rewriter_factory.create_rewriter, "FooRewriter") == "Failed to find rewriter: foorewriter"
assert fails(RuntimeError, rewriter_factory.create_rewriter, "TFJSRewriter", name="js").startswith(
    "tensorflowjs is not installed"
)

two, three = Appender("two"), Appender("three")
chain = rewriter_factory.create_rewriter("ChainRewriter", name="chain", rewriters=[one, two, three])
chain.perform_rewrite(model, made)
assert open("made/saved_model.pb").read() == "model one two three" and two.seen is SAVED
two.refuse = "rewrite"
told = fails(ValueError, chain.perform_rewrite, model, made)
assert "chain failed to rewrite model" in told and "two failed to rewrite model" in told, told
assert "no rewriters" in fails(
    ValueError, rewriter_factory.create_rewriter, "ChainRewriter", name="chain", rewriters=[]
)

# A converter runs as a program of its own, and however it ends this process is told.
CONVERTERS = {
    "aborts": (
        "import os, sys; sys.stderr.write('LLVM ERROR: no types\\n#0 stack\\n'); sys.stderr.flush(); os.abort()",
        "the converter was ended by SIGABRT: LLVM ERROR: no types",
    ),
    "raises": ("raise ValueError('no such key')", "the converter ended with exit status 1: ValueError: no such key"),
    "silent": ("raise SystemExit(3)", "the converter ended with exit status 3: it said nothing"),
    "chatty": (
        "import sys; sys.stderr.write('x' * 10_000_000 + '\\nlast'); sys.exit(1)",
        "the converter ended with exit status 1: last",
    ),
}
os.mkdir("programs")
os.environ["PYTHONPATH"] = os.path.abspath("programs")
for name, (text, words) in CONVERTERS.items():
    with open(f"programs/{name}.py", "w") as f:
        f.write(text)
    assert fails(rewriter.RewriteError, apart.run, "the converter", name) == words

# TFJS where it is installed: the converter gets the model's folder and the new one's.
os.makedirs("programs/tensorflowjs/converters")
open("programs/tensorflowjs/__init__.py", "w").close()
open("programs/tensorflowjs/converters/__init__.py", "w").close()
with open("programs/tensorflowjs/converters/converter.py", "w") as f:
    f.write("import sys; open(sys.argv[-1] + '/model.json', 'w').write(' '.join(sys.argv[1:]))")
sys.path.insert(0, "programs")
rewriter_factory.create_rewriter("tfjsrewriter", name="js").perform_rewrite(model, made)
assert (
    open("made/model.json").read()
    == "--input_format=tf_saved_model --saved_model_tags=serve --signature_name=serving_default model made"
)
shutil.rmtree("made")
