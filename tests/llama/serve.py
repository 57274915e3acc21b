"""Serves a model with llama.cpp's own server until it is ended: python serve.py MODEL.gguf PORT CONTEXT"""

import sys
import threading

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = int(sys.argv[3])
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.n_predict = 400
params.sampling.temp = 0.0
params.use_jinja = True
params.warmup = False
params.model_alias = {"scripted"}
server = xllamacpp.Server(params)
threading.Event().wait()
