#!/usr/bin/env bash
# codeagent with a model on this machine: any server that speaks the OpenAI
# Chat Completions API and calls tools will do. Start one, name it, go.
#
#   ollama      ollama serve; ollama pull qwen3-coder     http://127.0.0.1:11434/v1
#   llama.cpp   llama-server --jinja -m MODEL.gguf        http://127.0.0.1:8080/v1
#   LM Studio   its local server                          http://127.0.0.1:1234/v1
#   vLLM        vllm serve MODEL --enable-auto-tool-choice --tool-call-parser …
#                                                         http://127.0.0.1:8000/v1
set -eu

export OPENAI_BASE_URL=${OPENAI_BASE_URL:-http://127.0.0.1:11434/v1}
# A server without keys takes any; codeagent sends none when this is unset.
# export OPENAI_API_KEY=...
# Without a name the first model that the server lists is taken.
# export OPENAI_MODEL=qwen3-coder

# The model is asked from outside the sandbox, by codeagent. Commands that the
# model runs have no network, so they cannot reach the server.
exec codeagent "$@"
