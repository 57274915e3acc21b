"""Writes a model for llama.cpp that tells one of the stories below, whatever it is given: python model.py OUT.gguf

Its next token depends on the last one alone. Each piece of a story is one token, and leads to the next piece. The chat
template ends a prompt with the token that begins a part of a story: which story, the last message of the user says ("tell
loop"), and which part, the number of replies since then. All other text is bytes, a token each.
"""

import json
import sys

import gguf
import numpy as np

STEPS = 12  # parts of the story "loop" that call a tool
CONTEXT = 131_072  # tokens that it says it was trained with
WIDTH = 512


def call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


STORIES = {
    "hello": [["Hello ", "from ", "llama.cpp."]],
    "loop": [[f"Step {n}. ", call("read_file", path="notes.txt", from_line=n, to_line=n)] for n in range(1, STEPS + 1)]
    + [["All ", "steps ", "are done."]],
    "edit": [
        ["Both. ", call("read_file", path="notes.txt") + "\n", call("read_file", path="twice.txt")],
        [call("edit_file", path="twice.txt", old_text="old", new_text="new")],
        ["It is ", "edited."],
    ],
    "think": [["<think>", "Secretly ", "I wonder.", "</think>", "I have ", "thought."]],
    "big": [[call("read_file", path="big.txt")], ["I read ", "it all."]],
    "note": [[call("read_file", path="long.txt")], ["This note ", "is read."]],
    # What a request for a summary is answered with.
    "summary": [["## Goal\n", "The user tells stories."]],
    # What an inquiry is answered with: as a bare word, and as the object of a schema.
    "word": [["2"]],
    "object": [['{"answer": ', '"2"}']],
}

TEMPLATE = """
{%- set now = namespace(story='hello', part=0) -%}
{%- for message in messages -%}
    {%- if message.role == 'user' -%}
        {%- set said = message.content if message.content is string else message.content | map(attribute='text') | join -%}
        {%- set now.part = 0 -%}
        {%- if 'Reply with the summary alone' in said -%}{%- set now.story = 'summary' -%}
        {%- elif 'Reply with the JSON object' in said -%}{%- set now.story = 'object' -%}
        {%- elif 'answer_inquiry' in said -%}{%- set now.story = 'word' -%}
        {%- else -%}
            {%- for story in STORIES -%}{%- if 'tell ' + story in said -%}{%- set now.story = story -%}{%- endif -%}{%- endfor -%}
        {%- endif -%}
    {%- elif message.role == 'assistant' -%}
        {%- set now.part = now.part + 1 -%}
    {%- endif -%}
{%- endfor -%}
{%- if tools -%}<|im_start|>system
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Call a tool with <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.<|im_end|>
{% endif -%}
{%- for message in messages -%}
    {%- if message.role == 'tool' -%}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role == 'assistant' and message.tool_calls -%}<|im_start|>assistant
{{ message.content or '' }}
        {%- for call in message.tool_calls -%}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
        {%- endfor -%}<|im_end|>
{% else -%}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
<|{{ now.story }} {{ now.part }}|>
{%- endif -%}
""".replace("STORIES", repr([name for name in STORIES if name not in ("summary", "word", "object")]))


def letters():
    """GPT-2's letter for each byte: its own where that can be printed, else one from behind the 255th."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    return table | {byte: chr(256 + n) for n, byte in enumerate(others)}


class Vocabulary:
    def __init__(self):
        self.letters = letters()
        self.texts, self.kinds = [], []
        self.follows = {}
        self.pad = self.add("<|endoftext|>", gguf.TokenType.CONTROL)
        self.add("<|im_start|>", gguf.TokenType.CONTROL)
        self.end = self.add("<|im_end|>", gguf.TokenType.CONTROL)
        for byte in range(256):
            self.add(self.letters[byte])
        for name, parts in STORIES.items():
            for number, pieces in enumerate(parts):
                self.tell(self.add(f"<|{name} {number}|>", gguf.TokenType.CONTROL), pieces)

    def add(self, text, kind=gguf.TokenType.NORMAL):
        self.texts.append(text)
        self.kinds.append(kind)
        return len(self.texts) - 1

    def tell(self, token, pieces):
        for piece in pieces:
            text = "".join(self.letters[byte] for byte in piece.encode())
            while text in self.texts:  # each piece is a token of its own
                text += self.letters[ord(" ")]
            self.follows[token] = token = self.add(text)
        self.follows[token] = self.end


def write(path):
    words = Vocabulary()
    count = len(words.texts)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("scripted")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 4)
    writer.add_vocab_size(count)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words.texts)
    writer.add_token_types(words.kinds)
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(words.pad)
    writer.add_eos_token_id(words.end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    def zeros(*shape):
        return np.zeros(shape, np.float32)

    # Each token has a direction of its own; what follows it is what looks into that direction. Nothing else adds to it.
    meanings = np.random.default_rng(1).standard_normal((count, WIDTH)).astype(np.float32)
    meanings /= np.linalg.norm(meanings, axis=1, keepdims=True)
    outcomes = zeros(count, WIDTH)
    for token, after in words.follows.items():
        outcomes[after] += 3 * meanings[token]
    writer.add_tensor("token_embd.weight", meanings)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", outcomes)
    for name in ["attn_norm", "ffn_norm"]:
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(WIDTH, np.float32))
    for name, rows, columns in [
        ("attn_q", WIDTH, WIDTH),
        ("attn_k", WIDTH // 4, WIDTH),
        ("attn_v", WIDTH // 4, WIDTH),
        ("attn_output", WIDTH, WIDTH),
        ("ffn_gate", 32, WIDTH),
        ("ffn_up", 32, WIDTH),
        ("ffn_down", WIDTH, 32),
    ]:
        writer.add_tensor(f"blk.0.{name}.weight", zeros(rows, columns))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
