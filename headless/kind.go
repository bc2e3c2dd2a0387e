package headless

// ErrorKind groups the errors that end a run by what a script can do about them. The set is
// part of the contract of the JSON: docs/exec.md and schema/lines.json list it.
type ErrorKind string

const (
	// KindSignIn: no model is configured, or the provider does not accept the key.
	KindSignIn ErrorKind = "sign_in"
	// KindRateLimit: the provider limits requests, and waiting did not help.
	KindRateLimit ErrorKind = "rate_limit"
	// KindQuota: the account has no money or no quota left.
	KindQuota ErrorKind = "quota"
	// KindUnreachable: no answer came, or the connection broke.
	KindUnreachable ErrorKind = "unreachable"
	// KindProvider: the provider failed, or refused the request.
	KindProvider ErrorKind = "provider"
	// KindContext: too long for the model.
	KindContext ErrorKind = "context"
	// KindAnswer: the answer was empty, cut off, or did not fit the schema.
	KindAnswer ErrorKind = "answer"
	// KindLimit: --max-turns, --max-tokens or --max-cost was reached.
	KindLimit ErrorKind = "limit"
	// KindTimeout: --timeout was reached.
	KindTimeout ErrorKind = "timeout"
	// KindInterrupted: a signal.
	KindInterrupted ErrorKind = "interrupted"
	// KindRefused: a refusal ended the run, of --on-refused=stop or of a hook.
	KindRefused ErrorKind = "refused"
	// KindUsage: wrong flags or settings.
	KindUsage ErrorKind = "usage"
	// KindSandbox: no sandbox could be set up.
	KindSandbox ErrorKind = "sandbox"
	// KindOutput: the answer could not be written.
	KindOutput ErrorKind = "output"
	// KindInternal: a bug of codeagent.
	KindInternal ErrorKind = "internal"
	// KindOther: anything else, such as a session that cannot be read.
	KindOther ErrorKind = "other"
)
