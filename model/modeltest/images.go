package modeltest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"codeagent/internal/scripted"
	"codeagent/model"
)

// images tests what an adapter must do with images: they arrive at providers that accept
// them, and the conversation continues with those that do not.
func images(t *testing.T, w Wire, build Build) {
	t.Run("arrive", func(t *testing.T) { imagesArrive(t, w, build) })
	t.Run("blind", func(t *testing.T) { imagesBlind(t, w, build) })
	t.Run("of long conversations", func(t *testing.T) { imagesMany(t, w, build) })
	for _, c := range imageRefusals {
		t.Run("refused by "+c.who, func(t *testing.T) { c.run(t, w, build) })
	}
	t.Run("refused without naming images", func(t *testing.T) { imagesNotMeant(t, w, build) })
}

// shown returns an image identified by its data; only its beginning is a PNG's.
func shown(name, data string) model.Image {
	return model.Image{Name: name, MediaType: "image/png", Width: 4, Height: 3, Sum: name, Data: []byte("\x89PNG" + data)}
}

// seeing returns a conversation with images everywhere: in the first message, in the first
// of two results, and in a message without text.
func seeing() model.Request {
	r := question()
	call := func(id string) model.Item {
		return model.Item{Kind: model.Call, Call: &model.ToolCall{ID: id, Name: "view_image", Arguments: "{}"}}
	}
	r.Items = []model.Item{
		{Kind: model.User, Text: "hello", Images: []model.Image{shown("one.png", "1"), shown("two.png", "22")}},
		call("a"), call("b"),
		{Kind: model.Result, CallID: "a", Text: "result a", Images: []model.Image{shown("three.png", "333")}},
		{Kind: model.Result, CallID: "b", Text: "result b"},
		{Kind: model.Assistant, Text: "seen"},
		{Kind: model.User, Images: []model.Image{shown("four.png", "4444")}},
	}
	return r
}

// ask sends r and returns the bodies of the requests that were made; it checks each by the
// API's rules.
func ask(t *testing.T, w Wire, m Model, srv *scripted.Server, r model.Request) ([]string, Answer, error) {
	t.Helper()
	before := len(srv.Requests())
	got, err := Collect(t, m.Stream(unhung(t), r))
	var bodies []string
	for _, made := range srv.Requests()[before:] {
		if verr := w.Valid(made.Body); verr != nil {
			t.Errorf("a strict provider refuses the request: %v\n%.4000s", verr, made.Body)
		}
		bodies = append(bodies, string(made.Body))
	}
	if len(bodies) == 0 {
		t.Fatal("no request was made")
	}
	return bodies, got, err
}

// holds counts the images in a request.
func holds(body string) int { return strings.Count(body, ";base64,") }

func imagesArrive(t *testing.T, w Wire, build Build) {
	srv := serve(t, scripted.Always(scripted.Reply{Text: "ok"}))
	bodies, got, err := ask(t, w, build(t, srv.URL, 0), srv, seeing())
	if err != nil || got.Unseen != nil {
		t.Errorf("%+v, %v", got, err)
	}
	// The image of the first result comes after all results.
	at := -1
	for _, want := range []string{
		"hello", "[image: one.png (PNG, 4×3)]", "data:image/png;base64,iVBORzE=", "[image: two.png (PNG, 4×3)]", "data:image/png;base64,iVBORzIy",
		"result a", "result b", "[image: three.png (PNG, 4×3)]", "data:image/png;base64,iVBORzMzMw==",
		"seen", "[image: four.png (PNG, 4×3)]", "data:image/png;base64,iVBORzQ0NDQ=",
	} {
		next := strings.Index(bodies[0], want)
		if next <= at {
			t.Errorf("%q is not in its place:\n%s", want, bodies[0])
		}
		at = next
	}
}

func imagesBlind(t *testing.T, w Wire, build Build) {
	srv := serve(t, scripted.Always(scripted.Reply{Text: "ok"}))
	r := seeing()
	r.Blind = true
	r.Items[0].Images[1].Data = nil
	bodies, got, err := ask(t, w, build(t, srv.URL, 0), srv, r)
	if err != nil || got.Unseen != nil || holds(bodies[0]) != 0 {
		t.Errorf("%d images went to a model that sees none; %+v, %v", holds(bodies[0]), got, err)
	}
	if n := strings.Count(bodies[0], "the model m cannot see images]"); n != 4 {
		t.Errorf("it got words for %d images, want 4:\n%s", n, bodies[0])
	}
	if strings.Contains(bodies[0], `"image_url"`) || strings.Contains(bodies[0], "input_image") {
		t.Errorf("a request without an image has an image's fields:\n%s", bodies[0])
	}
	r.Blind = false
	if bodies, _, _ = ask(t, w, build(t, srv.URL, 0), srv, r); holds(bodies[0]) != 3 || !strings.Contains(bodies[0], "it is no longer at hand") {
		t.Errorf("an image without data is not mentioned:\n%s", bodies[0])
	}
}

// imagesMany: if there are more images than a request may hold, the oldest are left out,
// several at a time, so that the beginning of the request stays the same for a while.
func imagesMany(t *testing.T, w Wire, build Build) {
	srv := serve(t, scripted.Always(scripted.Reply{Text: "ok"}))
	m := build(t, srv.URL, 0)
	r := question()
	r.Items = nil
	changes, last := 0, ""
	for i := range 3 * model.MaxImages.Shown {
		r.Items = append(r.Items, model.Item{Kind: model.User, Text: "look", Images: []model.Image{shown("x", strings.Repeat("y", i))}})
		if i < model.MaxImages.Shown-2 {
			continue
		}
		bodies, _, err := ask(t, w, m, srv, r)
		if err != nil {
			t.Fatal(err)
		}
		if n := holds(bodies[0]); n < model.MaxImages.Shown/2 || n > model.MaxImages.Shown {
			t.Fatalf("with %d images %d were sent", i+1, n)
		}
		first := bodies[0][:strings.Index(bodies[0], ";base64,")+40]
		if last != "" && first != last {
			changes++
		}
		last = first
	}
	if changes < 3 || changes > 5 {
		t.Errorf("the beginning of the conversation changed %d times", changes)
	}
	large := strings.Repeat("z", model.MaxImages.File-10)
	r.Items = r.Items[:1]
	for range 6 {
		r.Items = append(r.Items, model.Item{Kind: model.User, Text: "look", Images: []model.Image{shown("big", large)}})
	}
	bodies, _, err := ask(t, w, m, srv, r)
	if n := holds(bodies[0]); err != nil || n < 2 || n > 4 {
		t.Errorf("of six large images %d were sent, %v", n, err)
	}
}

// imageRefusal is a server's refusal of an image.
type imageRefusal struct {
	who    string
	status int // 200: inside a stream, or instead of one
	body   string
	// blind: the model accepts no images.
	blind bool
}

var imageRefusals = []imageRefusal{
	{"OpenAI", 400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`, true},
	{"Ollama", 400, `{"error":{"message":"this model does not support image input (ref: b8bd630e-4a39-4b57-82af-9158ee9d5703)","type":"invalid_request_error","param":null,"code":null}}`, true},
	{"OpenRouter", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, true},
	{"DeepSeek", 400, "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text` at line 1 column 679289\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"invalid_request_error\"}}", true},
	{"an earlier DeepSeek", 422, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string at line 1 column 2901"}}`, true},
	{"llama.cpp", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, true},
	{"vLLM", 400, `{"object":"error","message":"Qwen/Qwen3-8B is not a multimodal model","type":"BadRequestError","param":null,"code":400}`, true},
	{"Groq", 400, `{"error":{"message":"messages[1].content must be a string","type":"invalid_request_error"}}`, true},
	{"Volcano", 400, `{"error":{"code":"InvalidParameter","message":"Model do not support image input. Request id: 021788846573420402c3547e09b7409e","param":"","type":"BadRequest"}}`, true},
	{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`, false},
	{"OpenAI, this image", 400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","param":null,"code":"image_parse_error"}}`, false},
	{"LM Studio", 400, `{"error":{"message":"Invalid type for 'input'.","type":"invalid_request_error","param":"input","code":"invalid_union"}}`, false},
	{"vLLM, so many", 400, `{"object":"error","message":"At most 1 image(s) may be provided in one prompt.","type":"BadRequestError","param":null,"code":400}`, false},
	{"Responses, in a stream", 200, sse(`{"type":"response.created","response":{"id":"r","status":"in_progress"}}`,
		`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"image_parse_error","message":"The image data you provided does not represent a valid image."}}}`), false},
	{"Responses, as an event", 200, "event: error\n" + sse(`{"type":"error","code":"invalid_image","message":"The image is not one.","param":null}`), false},
	{"OpenRouter, in a stream", 200, ": OPENROUTER PROCESSING\n\n" + sse(`{"id":"g","object":"chat.completion.chunk","error":{"code":404,"message":"No endpoints found that support image input"},"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"error"}]}`), true},
	{"vLLM, in a stream", 200, sse(`{"error":{"object":"error","message":"Qwen/Qwen3-8B is not a multimodal model","type":"BadRequestError","code":400}}`, "[DONE]"), true},
	{"a gateway, in a stream", 200, sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, `{"error":{"message":"images are not supported here"}}`), true},
	{"a gateway, in place of a stream", 200, `{"error":{"message":"Could not process image","type":"invalid_request_error"}}`, false},
}

// sse returns events as a stream.
func sse(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// run: the refused request is sent again with words. What was learned applies only to
// the model, or only to those images.
func (c imageRefusal) run(t *testing.T, w Wire, build Build) {
	srv := serve(t, func(r scripted.Request) scripted.Reply {
		if r.Model == "m" && strings.Contains(string(r.Body), "iVBORz") && (c.blind || strings.Contains(string(r.Body), "iVBORzIy")) {
			return scripted.Reply{Status: c.status, Body: c.body}
		}
		return scripted.Reply{Text: "ok"}
	})
	m := build(t, srv.URL, 0)
	bodies, got, err := ask(t, w, m, srv, seeing())
	if err != nil || len(bodies) != 2 || holds(bodies[0]) != 4 || holds(bodies[1]) != 0 {
		t.Fatalf("%d requests, %v", len(bodies), err)
	}
	if len(got.Unseen) != 1 || got.Unseen[0].Blind != c.blind {
		t.Errorf("reported: %+v", got.Unseen)
	}
	r := seeing()
	r.Items = append(r.Items, model.Item{Kind: model.Assistant, Text: "ok"}, model.Item{Kind: model.User, Text: "and this?", Images: []model.Image{shown("five.png", "55555")}})
	want := 1 // the new image; the others were refused
	if c.blind {
		want = 0
	}
	bodies, got, err = ask(t, w, m, srv, r)
	if err != nil || len(bodies) != 1 || holds(bodies[0]) != want || got.Unseen != nil {
		t.Errorf("the next question: %d requests, the first with %d images, want %d; %v", len(bodies), holds(bodies[0]), want, err)
	}
	if r.Model = "seeing"; c.blind {
		if bodies, _, err = ask(t, w, m, srv, r); err != nil || holds(bodies[0]) != 5 {
			t.Errorf("another model was shown %d of 5 images, %v", holds(bodies[0]), err)
		}
	}
}

// imagesNotMeant: refusals of something else are not taken for refusals of images, also in
// a request that has images.
func imagesNotMeant(t *testing.T, w Wire, build Build) {
	for _, reply := range []scripted.Reply{
		{Status: http.StatusBadRequest, Body: `{"error":{"message":"tools are not for you"}}`},
		{Status: http.StatusUnauthorized, Body: `{"error":{"message":"no image input for this key"}}`},
		{Status: http.StatusInternalServerError, Body: `{"error":{"message":"the image of the server is broken"}}`},
		{Body: sse(`{"error":{"message":"the image of the server is broken"}}`)},
		{Body: sse(`{"error":{"message":"no image input for this key","type":"authentication_error"}}`)},
	} {
		srv := serve(t, scripted.Always(reply))
		bodies, got, err := ask(t, w, build(t, srv.URL, 0), srv, seeing())
		if err == nil || got.Unseen != nil || slices.ContainsFunc(bodies, func(b string) bool { return holds(b) != 4 }) {
			t.Errorf("%s: %d requests, %+v, %v", reply.Body, len(bodies), got, err)
		}
	}
}
