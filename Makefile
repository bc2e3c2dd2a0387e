# Two commands for a newcomer: `make run` and `make test`. Both need Go alone.
GO      ?= go
BIN     := bin
PREFIX  ?= $(HOME)/.local
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w
# Where codeagent begins on Linux: cmd/codeagent/entry_linux.go says why.
ENTRY   := $(if $(filter linux,$(shell $(GO) env GOOS)),-E main.entry)
# CI runs the tests under the race detector, which doubles their time. It needs cgo and a C
# compiler; without one the tests run plain. `make test RACE=-race` does the same elsewhere.
RACE    := $(if $(CI),$(shell command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 || command -v cc >/dev/null 2>&1 && echo -race))
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.1
TIMEOUT := $(if $(CI),60m,10m)

# Everything is built with -trimpath: what build, lint and cross compiled, the tests use, in any checkout.
export CGO_ENABLED := 0

.PHONY: run build test kernel bench compat lint man tree install dist clean recording

run: build
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/codeagent; else \
	  echo "no terminal here: playing the tour unattended (what nobody can approve is refused, so it ends with status 3)"; \
	  $(BIN)/codeagent exec </dev/null; s=$$?; [ $$s -eq 0 ] || [ $$s -eq 3 ]; fi

# The helper comes first: codeagent carries its SHA-256 and refuses any other. codeagent-extra has the
# same version as codeagent, and serves no other.
# Nothing reads what go would stamp of the repository, and where the checkout
# belongs to another user, git refuses to report it.
# codeagent is copied, as `make install` does: the linker writes through a mapping, page by
# page, and a file that was written in one go is cached in larger pieces, which a start maps
# in 1 to 2 ms less.
build:
	@mkdir -p $(BIN)
	@$(GO) build -buildvcs=false -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/linux-sandbox-helper ./cmd/linux-sandbox-helper
	@sum=$$( (sha256sum $(BIN)/linux-sandbox-helper 2>/dev/null || shasum -a 256 $(BIN)/linux-sandbox-helper) | cut -d' ' -f1); \
	  $(GO) build -buildvcs=false -trimpath -ldflags "$(LDFLAGS) $(ENTRY) -X main.helperSum=$$sum -X main.version=$(VERSION)" -o $(BIN)/codeagent ./cmd/codeagent
	@$(GO) build -buildvcs=false -trimpath -ldflags "$(LDFLAGS) -X main.version=$(VERSION)" -o $(BIN)/codeagent-extra ./cmd/codeagent-extra
	@cp $(BIN)/codeagent $(BIN)/.copy && mv -f $(BIN)/.copy $(BIN)/codeagent

# One test command. CI=true adds the slow suites and the race detector, and turns a skip
# into a failure. How much is tried follows how fast the machine starts processes, which is
# measured first (internal/machine); CODEAGENT_TEST_PACE=5/0 is a slow machine, and the
# first rows of each table. go test starts packages in the order given: those that take longest come
# first, and the others run beside them. `make lint` vets all of them.
# Tests wait much, for processes and for time: three packages run at a time where there are two processors.
LONGEST := ./linuxsandbox/alike ./linuxsandbox/escapes ./cmd/codeagent ./linuxsandbox/denials ./linuxsandbox ./cmd/codeagent/conversation ./exec ./internal/compat
AT_ONCE := $(shell echo $$(( (3 * $$(getconf _NPROCESSORS_ONLN) + 1) / 2 )))
test: build
	@umask 022; CGO_ENABLED=$(if $(RACE),1,0) $(GO) run -trimpath ./internal/testsummary $(GO) test -json -trimpath $(RACE) -p $(AT_ONCE) -timeout $(TIMEOUT) -vet=off $(LONGEST) ./...

# The sandbox on the kernel of Debian, in an emulated machine: the tables of attacks, and other tests for
# SECONDS_LEFT=600 after its start.
# `make kernel PACKAGE=linux-image-6.12-amd64` takes another one.
kernel:
	@SECONDS_LEFT=$${SECONDS_LEFT:-600} MINUTES=$${MINUTES:-30} .ci/kernel $(PACKAGE)

# Go's and Python's own tests, bare and in the sandbox, for half an hour. What may
# differ is listed with its reason in internal/compat/exceptions.txt.
compat:
	$(GO) run ./internal/compat
	[ "$$(id -u)" -ne 0 ] || $(GO) run ./internal/compat -surroundings no-namespaces

bench: build
	$(GO) test -timeout 60m -run '^$$' -bench . -benchmem ./...

# The pictures of the README, drawn by the screen's own tests.
recording:
	CGO_ENABLED=0 $(GO) test ./tui -run 'TestScreens|TestHeldQuestion' -update
	@echo "drawn: tui/testdata/session-80.svg tui/testdata/question-80.svg tui/testdata/held-80.svg"

lint:
	@out=$$(gofmt -s -l .); [ -z "$$out" ] || { echo "gofmt -s would change:"; echo "$$out"; exit 1; }
	$(GO) vet -trimpath ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet -trimpath ./...
	GOFLAGS=-trimpath $(GO) run $(STATICCHECK) ./...

# The manual pages are made of the flags and of docs/.
man: build
	@rm -rf $(BIN)/man && mkdir -p $(BIN)/man && $(BIN)/codeagent help --man $(BIN)/man

# What is installed below a prefix: the programs in one folder, since codeagent finds the others
# beside itself, and what this machine's build says of itself: manual and completions.
TREE = $(BIN)/tree
tree: man
	@rm -rf $(TREE) && install -d $(addprefix $(TREE)/,bin share/man/man1 share/man/man7 share/doc/codeagent \
	  share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d)
	@install -m 755 $(addprefix $(BIN)/,codeagent linux-sandbox-helper codeagent-extra) $(TREE)/bin/
	@install -m 644 $(BIN)/man/*.1 $(TREE)/share/man/man1/ && install -m 644 $(BIN)/man/*.7 $(TREE)/share/man/man7/ && gzip -9n $(TREE)/share/man/man?/*
	@install -m 644 README.md CHANGELOG.md SECURITY.md NOTICE $(TREE)/share/doc/codeagent/ && install -m 644 LICENSE $(TREE)/share/doc/codeagent/copyright
	@$(BIN)/codeagent completion bash > $(TREE)/share/bash-completion/completions/codeagent
	@$(BIN)/codeagent completion zsh > $(TREE)/share/zsh/site-functions/_codeagent
	@$(BIN)/codeagent completion fish > $(TREE)/share/fish/vendor_completions.d/codeagent.fish

install: tree
	@install -d $(DESTDIR)$(PREFIX) && cp -R $(TREE)/. $(DESTDIR)$(PREFIX)/

# Packages, in bin/dist: an archive for every platform that is promised, a .deb for each Linux, and their
# SHA-256. Every time in them is that of the commit, so two builds of a commit are equal byte for byte.
NFPM  := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
DIST   = $(BIN)/dist
dist: tree
	@rm -rf $(DIST) && mkdir -p $(DIST)
	@for p in linux/amd64 linux/arm64 darwin/arm64; do set -e; \
	  name=codeagent-$(VERSION)-$${p%/*}-$${p#*/}; root=$(DIST)/$$name; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} $(MAKE) --no-print-directory build BIN=$(DIST)/bin; \
	  cp -R $(TREE) $$root && install -m 755 $(DIST)/bin/* $$root/bin/ && chmod -R u=rwX,go=rX $$root; \
	  [ $${p%/*} = linux ] || rm $$root/bin/linux-sandbox-helper; \
	  find $$root -exec touch -h -d @$(EPOCH) {} +; \
	  tar -C $(DIST) --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - $$name | gzip -9n > $$root.tar.gz; \
	  [ $${p%/*} != linux ] || ROOT=$$root ARCH=$${p#*/} VERSION=$$(echo $(VERSION) | sed 's/^v//; /^[0-9]*\./!s/^/0~git/') \
	    SOURCE_DATE_EPOCH=$(EPOCH) $(GO) run $(NFPM) package --packager deb --target $$root.deb >/dev/null; \
	  rm -r $$root $(DIST)/bin; done
	@cd $(DIST) && sha256sum * > SHA256SUMS && cat SHA256SUMS

clean:
	rm -rf $(BIN)
