package wire

// Format is how a provider is asked for an answer that fits a schema: strictly at first, and
// weaker after each refusal.
type Format int

const (
	strictFormat Format = iota // the provider makes the answer fit; it refuses schemas with optional fields
	looseFormat
	noFormat
)

// Name is the name of the schema in requests.
func (Format) Name() string { return "answer" }

// Strict reports whether the provider is asked to make the answer fit.
func (f Format) Strict() bool { return f == strictFormat }

// Sent reports whether the provider gets the schema.
func (f Format) Sent() bool { return f != noFormat }

// After returns the format to try next. It is f, if a refusal does not name the format.
func (f Format) After(r refusal) Format {
	if !r.Names("response_format", "text.format", "json_schema", "structured output") {
		return f
	}
	return min(f+1, noFormat)
}
