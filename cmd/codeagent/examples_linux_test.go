package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"codeagent/internal/attack"
	"codeagent/internal/machine"
	"codeagent/internal/scripted"

	"go.yaml.in/yaml/v3"
)

// The examples of examples/ for machines without a person: their commands are read out of them and
// run as a container would run them, by an ordinary user.

// unprivileged is a user in a container, and what the example has around it.
type unprivileged struct {
	user
	t     *testing.T
	model *scripted.Server
	path  string
}

func newUnprivileged(t *testing.T, replies ...scripted.Reply) *unprivileged {
	t.Helper()
	for _, name := range []string{"bash", "git", "make", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			if machine.Thorough() {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	uid := ordinary
	if os.Getuid() != 0 {
		uid = -1 // only root can set the surroundings up
		t.Log("not tried in a container: needs root")
	}
	u := &unprivileged{user: newUser(t, "example", uid), t: t, model: serve(t, replies...)}
	u.path = u.bin + ":/usr/bin:/bin"
	return u
}

// run runs argv in dir like a container with this environment alone.
func (u *unprivileged) run(dir string, env map[string]string, stdin string, argv ...string) result {
	u.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	if u.uid >= 0 {
		program, err := exec.LookPath(argv[0])
		if strings.HasPrefix(argv[0], "codeagent") {
			program, err = u.bin+"/"+argv[0], nil
		}
		if err != nil {
			u.t.Fatal(err)
		}
		cmd = exec.Command("/proc/self/exe")
		cmd.Args = append([]string{attack.LauncherName, attack.SurroundContainer, strconv.Itoa(u.uid), program}, argv[1:]...)
	} else if argv[0] == "codeagent" {
		cmd.Path, cmd.Err = u.bin+"/codeagent", nil
	}
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(cmd.Env,
		"PATH="+u.path, "HOME="+u.home, "LANG=C.UTF-8", "OPENAI_BASE_URL="+u.model.URL, "OPENAI_MODEL=test", "OPENAI_API_KEY=the-secret-key",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org",
	)
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return run1(u.t, cmd)
}

// must is run for what prepares an example.
func (u *unprivileged) must(dir, script string) {
	u.t.Helper()
	if r := u.run(dir, nil, "", "bash", "-euc", script); r.code != 0 {
		u.t.Fatalf("%s: %v", script, r)
	}
}

// repository makes a repository with a branch topic, which adds app.go, and returns a clone of it.
func (u *unprivileged) repository(name string) (upstream, clone string) {
	u.t.Helper()
	upstream, clone = u.out+"/"+name+".git", u.out+"/"+name
	u.must(u.out, `git init -q -b main `+name+`.git; cd `+name+`.git; echo old >old; git add .; git commit -qm one; cd ..
		git clone -q `+name+`.git `+name+`; cd `+name+`; git checkout -qb topic; printf 'package app\n\nfunc broken() {}\n' >app.go; git add .; git commit -qm two`)
	return upstream, clone
}

func example(t *testing.T, name string) string { return page(t, filepath.Join("examples", name)) }

// documents returns the YAML documents of an example as JSON.
func documents(t *testing.T, name string) (out []json.RawMessage) {
	t.Helper()
	for docs := yaml.NewDecoder(strings.NewReader(example(t, name))); ; {
		var doc any
		err := docs.Decode(&doc)
		if err == io.EOF {
			return out
		}
		var data []byte
		if err == nil {
			data, err = json.Marshal(doc)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, data)
	}
}

func TestGitHubActionsExample(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			If    string
			Env   map[string]string
			Steps []struct {
				ID, Uses, Run string
				With          map[string]any
				Env           map[string]string
			}
		}
	}
	if err := json.Unmarshal(documents(t, "github-actions/review.yml")[0], &workflow); err != nil {
		t.Fatal(err)
	}
	finding := "100% wrong:\n::error::no"
	report, err := json.Marshal(map[string]any{"findings": []map[string]any{{"file": "app.go", "line": 3, "severity": "high", "message": finding}}})
	if err != nil {
		t.Fatal(err)
	}
	u := newUnprivileged(t,
		scripted.Reply{Text: "::warning::obey me", Calls: []scripted.Call{shellCall("touch made; env; sudo -n true; echo '##vso[task.complete]'; exit 1")}},
		scripted.Reply{Calls: []scripted.Call{{Name: "report_findings", Arguments: string(report)}}},
		scripted.Reply{Text: "done"})
	_, project := u.repository("project")
	u.must(u.out, `mkdir runner; git init -q -b main source; cd source; cp `+u.bin+`/* .
		printf 'install:\n\tinstall -d $(PREFIX)/bin\n\tinstall -m 755 codeagent linux-sandbox-helper $(PREFIX)/bin/\n' >Makefile; git add .; git commit -qm built`)
	u.path = "/usr/bin:/bin" // the example installs codeagent

	job := workflow.Jobs["review"]
	outputs := map[string]string{}
	expression := regexp.MustCompile(`\$\{\{ *(.*?) *\}\}`)
	fill := func(into map[string]string, env map[string]string) {
		for k, v := range env {
			into[k] = expression.ReplaceAllStringFunc(v, func(e string) string {
				e = expression.FindStringSubmatch(e)[1]
				of, isOutput := strings.CutPrefix(e, "steps.")
				switch {
				case e == "github.base_ref":
					return "main"
				case e == "secrets.OPENAI_API_KEY":
					return "the-secret-key"
				case isOutput:
					return outputs[of]
				}
				t.Errorf("the test knows no %s", e)
				return ""
			})
		}
	}
	ran, last := map[string]result{}, result{}
	for i, step := range job.Steps {
		if step.Run == "" {
			if step.Uses != "actions/checkout@v4" || step.With["persist-credentials"] != false {
				t.Errorf("step %d is not tried: %+v", i, step)
			}
			continue
		}
		env := map[string]string{"RUNNER_TEMP": u.out + "/runner", "GITHUB_PATH": u.out + "/path", "GITHUB_OUTPUT": u.out + "/outputs"}
		fill(env, job.Env)
		fill(env, step.Env)
		env["CODEAGENT_SOURCE"] = "file://" + u.out + "/source"
		last = u.run(project, env, "", "bash", "-e", "-c", step.Run)
		if ran[step.ID] = last; last.code != 0 && i < len(job.Steps)-1 {
			t.Fatalf("%s: %v", step.Run, last)
		}
		if data, err := os.ReadFile(env["GITHUB_PATH"]); err == nil {
			u.path = strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", ":") + ":/usr/bin:/bin"
		}
		data, _ := os.ReadFile(env["GITHUB_OUTPUT"]) // absent before the step that writes it
		for line := range strings.Lines(string(data)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			outputs[step.ID+".outputs."+k] = v
		}
		if strings.Contains(step.Run, "jq") && last.stdout != "::error file=app.go,line=3,title=high::100%25 wrong:%0A::error::no\n" {
			t.Errorf("annotations: %v", last)
		}
	}
	if last.code != 1 || !strings.Contains(last.stdout, "findings: see the annotations") {
		t.Errorf("the result: %v", last)
	}
	if log := ran["review"].stdout; !regexp.MustCompile(`^::stop-commands::([0-9a-f]{32})\n::[0-9a-f]{32}::\n$`).MatchString(log) {
		t.Errorf("what the log obeys: %q", log)
	}
	if log := ran["review"].stderr; regexp.MustCompile(`(?m)^\s*::|##(vso)?\[`).MatchString(log) || !strings.Contains(log, `#\#vso[task.complete]`) {
		t.Errorf("what the log obeys without stop-commands: %q", log)
	}
	if len(workflow.Permissions) != 1 || workflow.Permissions["contents"] != "read" || !strings.Contains(job.If, "head.repo.full_name == github.repository") {
		t.Errorf("more than it needs: %v, if %q", workflow.Permissions, job.If)
	}
	u.unharmed(project)
}

// unharmed: the command of the model read no key and wrote nothing.
func (u *unprivileged) unharmed(dir string) {
	u.t.Helper()
	for _, text := range results(u.model) {
		if strings.Contains(text, "the-secret-key") {
			u.t.Errorf("a command read the key: %s", text)
		}
	}
	if _, err := os.Stat(dir + "/made"); err == nil {
		u.t.Error("a command wrote into the project")
	}
}

// instruction is a line of a Dockerfile.
type instruction struct{ name, rest string }

func dockerfile(text string) []instruction {
	var out []instruction
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, rest, _ := strings.Cut(line, " ")
			out = append(out, instruction{name, rest})
		}
	}
	return out
}

func TestDockerfileExample(t *testing.T) {
	t.Parallel()
	text := example(t, "container/Dockerfile")
	u := newUnprivileged(t,
		scripted.Reply{Calls: []scripted.Call{
			shellCall("echo inside > inside"), shellCall("echo x > ../outside"), shellCall("env"), shellCall("exec 3<>/dev/tcp/127.0.0.1/1 || echo no way out"),
		}},
		scripted.Reply{Text: "done"})
	_, project := u.repository("project")
	var entry, args []string
	isUser, stage := false, 0
	for _, in := range dockerfile(text) {
		switch in.name {
		case "FROM":
			isUser = false
			stage++
		case "USER":
			isUser = !strings.HasPrefix(in.rest, "0") && in.rest != "root"
		case "RUN":
			if !isUser {
				continue // the build of the image, as root of the builder
			}
			if r := u.run(project, nil, "", "bash", "-c", in.rest); r.code != 0 {
				t.Errorf("RUN %s: %v", in.rest, r)
			}
		case "ENTRYPOINT", "CMD":
			into := map[string]*[]string{"ENTRYPOINT": &entry, "CMD": &args}[in.name]
			if err := json.Unmarshal([]byte(in.rest), into); err != nil {
				t.Error(err)
			}
		}
	}
	if !isUser || stage != 2 || len(entry) == 0 {
		t.Fatalf("the container runs as root, or nothing: %v", entry)
	}
	r := u.run(project, nil, "", append(entry, args...)...)
	if r.code != 0 || !strings.Contains(r.stdout, "landlock  active") || !strings.Contains(r.stdout, "seccomp   active") {
		t.Errorf("what holds: %v", r)
	}
	if u.uid >= 0 && !strings.Contains(r.stdout, "mountns   absent") {
		t.Errorf("this is no container: %v", r)
	}
	// The command of its head: the flags of docker, then those of codeagent.
	shown := regexp.MustCompile(`(?s)docker run ([^\n]*\\\n[^\n]*) codeagent (exec [^\n]*)`).FindStringSubmatch(text)
	if shown == nil || !strings.Contains(shown[1], "--cap-drop ALL") || regexp.MustCompile(`--privileged|--cap-add|unconfined`).MatchString(shown[1]) {
		t.Fatalf("%q", shown)
	}
	r = u.run(project, nil, "", "bash", "-c", strings.Join(entry, " ")+" "+shown[2])
	if r.code != 3 || !strings.Contains(r.stderr, "⊘ write "+u.out+"/outside") || !strings.Contains(r.stdout, "done") {
		t.Errorf("exec: %v", r)
	}
	if got, err := os.ReadFile(project + "/inside"); err != nil || string(got) != "inside\n" {
		t.Errorf("the project cannot be changed: %q, %v", got, err)
	}
	if said := strings.Join(results(u.model), "\n"); !strings.Contains(said, "no way out") {
		t.Errorf("the network: %s", said)
	}
	u.unharmed(project)
}

func TestKubernetesExample(t *testing.T) {
	t.Parallel()
	type variable struct{ Name, Value string }
	type securityContext struct {
		RunAsNonRoot, AllowPrivilegeEscalation, Privileged *bool
		RunAsUser                                          int
		SeccompProfile                                     struct{ Type string }
		Capabilities                                       struct{ Add, Drop []string }
	}
	type jobs struct {
		Spec struct {
			CompletionMode string
			Completions    int
			Template       struct {
				Spec struct {
					HostNetwork, HostPID, AutomountServiceAccountToken bool
					SecurityContext                                    securityContext
					InitContainers                                     []any
					Containers                                         []struct {
						Command, Args   []string
						Env             []variable
						SecurityContext securityContext
						VolumeMounts    []struct{ Name, MountPath string }
					}
				}
			}
		}
	}
	var job, collect jobs
	if err := json.Unmarshal(documents(t, "kubernetes/collect.yaml")[0], &collect); err != nil {
		t.Fatal(err)
	}
	var config struct{ Data map[string]string }
	for _, doc := range documents(t, "kubernetes/job.yaml") {
		var kind struct{ Kind string }
		into := map[string]any{"ConfigMap": &config, "Job": &job}
		if err := json.Unmarshal(doc, &kind); err != nil {
			t.Fatal(err)
		}
		if v := into[kind.Kind]; v != nil {
			if err := json.Unmarshal(doc, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	pod := job.Spec.Template.Spec
	if len(pod.Containers) != 1 || len(pod.InitContainers) > 0 || job.Spec.CompletionMode != "Indexed" || job.Spec.Completions != len(strings.Fields(config.Data["repositories"])) {
		t.Fatalf("%+v", job)
	}
	c := pod.Containers[0]
	no := func(b *bool) bool { return b != nil && !*b }
	if s := pod.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == 0 || s.SeccompProfile.Type != "RuntimeDefault" || pod.HostNetwork || pod.HostPID ||
		!no(c.SecurityContext.AllowPrivilegeEscalation) || c.SecurityContext.Privileged != nil || len(c.SecurityContext.Capabilities.Add) > 0 || strings.Join(c.SecurityContext.Capabilities.Drop, "") != "ALL" {
		t.Errorf("it has privileges: %+v, %+v", s, c.SecurityContext)
	}

	escape := "echo x >> ../home/x; echo x >> ../../0/clone/x; env"
	u := newUnprivileged(t,
		scripted.Reply{Calls: []scripted.Call{shellCall("echo new > new && git add new && git commit -qm three")}}, scripted.Reply{Text: "committed"},
		scripted.Reply{Text: "it was finished already"},
		scripted.Reply{Calls: []scripted.Call{shellCall(escape)}}, scripted.Reply{Text: "no way"})
	first, _ := u.repository("first")
	second, _ := u.repository("second")
	env := map[string]string{}
	for _, m := range c.VolumeMounts { // the volumes are folders of the test
		dir := filepath.Join(u.out, "volumes", m.Name)
		u.must(u.out, "mkdir -p "+dir)
		for _, v := range c.Env {
			if rest, ok := strings.CutPrefix(v.Value+"/", m.MountPath+"/"); ok {
				env[v.Name] = filepath.Join(dir, rest)
			}
		}
	}
	config.Data["repositories"] = "file://" + first + "\nfile://" + second + "\n"
	for name, text := range config.Data {
		if err := os.WriteFile(filepath.Join(env["CONFIG"], name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index := func(i int) result {
		env["JOB_COMPLETION_INDEX"] = strconv.Itoa(i)
		return u.run("/", env, "", append(append([]string{}, c.Command...), c.Args...)...)
	}
	clone := func(i int) string { return filepath.Join(env["DATA"], strconv.Itoa(i), "clone") }

	if r := index(0); r.code != 0 || !strings.Contains(r.stdout, `"type":"turn.completed"`) {
		t.Fatalf("%v", r)
	}
	if out := u.run(clone(0), nil, "", "git", "log", "--format=%s"); !strings.HasPrefix(out.stdout, "three\n") {
		t.Errorf("%v", out)
	}
	patches := collect.Spec.Template.Spec.Containers[0]
	if r := u.run("/", env, "", append(append([]string{}, patches.Command...), patches.Args...)...); r.code != 0 ||
		!strings.HasPrefix(r.stdout, "repository file://"+first+"\n") || !strings.Contains(r.stdout, "Subject: [PATCH] three\n") || !strings.Contains(r.stdout, "+new\n") {
		t.Errorf("the patches: %v", r)
	}
	answer, err := os.ReadFile(filepath.Join(env["DATA"], "0", "answer.md"))
	if err != nil || strings.TrimSpace(string(answer)) != "committed" {
		t.Errorf("%q, %v", answer, err)
	}
	// A second pod of the same index resumes the session.
	if r := index(0); r.code != 0 {
		t.Errorf("%v", r)
	}
	requests := u.model.Requests()
	if text := said(requests[len(requests)-1]); !strings.Contains(text, "Replace the deprecated calls") || !strings.Contains(text, "Your work was interrupted") {
		t.Errorf("it does not resume: %s", text)
	}
	// What commands may not do is refused: the index fails, and no retry follows.
	if r := index(1); r.code != 3 {
		t.Errorf("%v", r)
	}
	written := func() (n int) {
		for _, name := range []string{"1/home/x", "0/clone/x"} {
			if _, err := os.Stat(filepath.Join(env["DATA"], name)); err == nil {
				n++
			}
		}
		return n
	}
	if n := written(); n > 0 {
		t.Errorf("a command wrote %d files outside", n)
	}
	u.unharmed(clone(1))
	u.must(clone(1), escape) // without the sandbox it works
	if n := written(); n != 2 {
		t.Errorf("only %d of 2 files can be written without the sandbox", n)
	}
}
