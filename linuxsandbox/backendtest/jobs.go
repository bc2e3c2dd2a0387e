//go:build linux

package backendtest

import (
	"path/filepath"

	"codeagent/internal/attack"
)

// JobEnv is the environment of a job with its workspace and temporary folder.
func JobEnv(ws, temp string) []string {
	return []string{
		"PATH=" + attack.Path, "HOME=" + filepath.Join(ws, "home"), "TMPDIR=" + temp, "LANG=C.UTF-8", "TERM=dumb", "USER=dev",
		"GIT_AUTHOR_NAME=dev", "GIT_AUTHOR_EMAIL=dev@example.org", "GIT_COMMITTER_NAME=dev", "GIT_COMMITTER_EMAIL=dev@example.org",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GOCACHE=" + filepath.Join(temp, "gocache"), "GOPATH=" + filepath.Join(temp, "gopath"), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off",
		"npm_config_cache=" + filepath.Join(temp, "npm"), "npm_config_update_notifier=false", "npm_config_fund=false", "npm_config_audit=false",
		"PYTHONDONTWRITEBYTECODE=1",
	}
}
