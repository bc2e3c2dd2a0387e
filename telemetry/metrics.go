package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// instrument names a metric.
type instrument struct {
	name, unit, description string
	// bounds are the upper bounds of the buckets of a histogram; nil: a sum.
	bounds []float64
}

var (
	byTokens  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	bySeconds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}

	// The first two are those of the conventions for generative AI.
	tokenUsage      = instrument{"gen_ai.client.token.usage", "{token}", "Tokens of a model request.", byTokens}
	requestDuration = instrument{"gen_ai.client.operation.duration", "s", "Duration of a model request.", bySeconds}
	turnDuration    = instrument{"codeagent.turn.duration", "s", "Duration of a turn.", bySeconds}
	callDuration    = instrument{"codeagent.tool_call.duration", "s", "Duration of a tool call.", bySeconds}
	waitDuration    = instrument{"codeagent.wait.duration", "s", "Time that a question waited for a person.", bySeconds}
	refusals        = instrument{name: "codeagent.refusals", unit: "{refusal}", description: "Requests for a permission that were refused."}
	grants          = instrument{name: "codeagent.grants", unit: "{grant}", description: "Requests for a permission that were granted."}
	denials         = instrument{name: "codeagent.denials", unit: "{denial}", description: "Accesses that the sandbox denied to commands."}
)

// mostSeries bounds the combinations of attributes of all metrics: a model can name tools
// that do not exist.
const mostSeries = 200

// series is one metric with one combination of attributes.
type series struct {
	instrument
	attributes []attribute
	sum        float64
	min, max   float64
	count      uint64
	buckets    []uint64
}

// meter adds up the metrics. Its user guards it.
type meter struct {
	all   map[string]*series
	order []*series
	since time.Time
}

// add records a value: adds it to a sum, or notes it in a histogram.
func (m *meter) add(i instrument, value float64, attributes ...attribute) {
	key := i.name + fmt.Sprint(attributes)
	s := m.all[key]
	if s == nil && len(m.order) >= mostSeries {
		attributes = []attribute{yes("otel.metric.overflow")}
		key = i.name + " overflow"
		s = m.all[key]
	}
	if s == nil {
		s = &series{instrument: i, attributes: attributes}
		if i.bounds != nil {
			s.buckets = make([]uint64, len(i.bounds)+1)
		}
		m.all[key] = s
		m.order = append(m.order, s)
	}
	if s.count == 0 || value < s.min {
		s.min = value
	}
	if s.count == 0 || value > s.max {
		s.max = value
	}
	s.sum += value
	s.count++
	if i.bounds != nil {
		n, _ := slices.BinarySearch(i.bounds, value) // the bounds belong to their buckets
		s.buckets[n]++
	}
}

// report returns the metrics until now.
func (m *meter) report(now time.Time) []metric {
	var out []metric
	for _, s := range m.order {
		n := slices.IndexFunc(out, func(x metric) bool { return x.Name == s.name })
		if n < 0 {
			n = len(out)
			out = append(out, metric{Name: s.name, Description: s.description, Unit: s.unit})
			if p := (&points{Temporality: cumulative}); s.bounds != nil {
				out[n].Histogram = p
			} else {
				p.Monotonic = true
				out[n].Sum = p
			}
		}
		p := point{Attributes: s.attributes, Start: stamp(m.since), Time: stamp(now)}
		if s.bounds == nil {
			p.AsInt = strconv.FormatInt(int64(s.sum), 10)
			out[n].Sum.Points = append(out[n].Sum.Points, p)
			continue
		}
		sum, least, most := s.sum, s.min, s.max
		p.Count, p.Sum, p.Min, p.Max, p.Bounds = strconv.FormatUint(s.count, 10), &sum, &least, &most, s.bounds
		for _, b := range s.buckets {
			p.Buckets = append(p.Buckets, strconv.FormatUint(b, 10))
		}
		out[n].Histogram.Points = append(out[n].Histogram.Points, p)
	}
	return out
}
