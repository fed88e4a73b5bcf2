package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"weft/internal/demo"
)

// browser is a real Chromium, and what it had to say.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	errors   []string // of the console, of scripts, of the policy
	requests []string // what was fetched
}

// startBrowser starts Chromium, from the Debian package chromium.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed: apt install chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(time.Minute))
	life, end := context.WithTimeout(context.Background(), 9*time.Minute)
	alloc, stopAlloc := chromedp.NewExecAllocator(life, opts...)
	ctx, stop := chromedp.NewContext(alloc)
	t.Cleanup(func() { stop(); stopAlloc(); end() })
	b := &browser{Context: ctx, t: t}
	do(b, chromedp.Steps())
	call(b, network.Enable, network.EnableParams{})
	console, sent := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning {
				b.mu.Lock()
				b.errors = append(b.errors, m.String()+" "+m.URL)
				b.mu.Unlock()
			}
		}
	}()
	go func() {
		for r, err := range sent {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.requests = append(b.requests, r.Request.URL)
			b.mu.Unlock()
		}
	}()
	return b
}

// do runs one action and returns what it gives.
func do[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	v, err := chromedp.Run(b, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// call sends one command of the browser's protocol.
func call[P, R any](b *browser, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	return do(b, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) })
}

// press types keys.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		do(b, chromedp.KeyEvent(k))
	}
}

// eval returns what a script finds out.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	return do(b, chromedp.Evaluate[T](script))
}

// open loads a page in a window of that size.
func (b *browser) open(url string, width, height int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 500})
	do(b, chromedp.Navigate(url))
}

// slash presses /, the way a keyboard does: one event, which the page may take for itself.
func (b *browser) slash() {
	b.t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		e := input.DispatchKeyEventParams{Type: kind, Key: "/", Code: "Slash", WindowsVirtualKeyCode: 191}
		if kind == input.DispatchKeyEventTypeKeyDown {
			e.Text = "/"
		}
		call(b, input.DispatchKeyEvent, e)
	}
}

// quiet wants nothing on the console, and nothing fetched but what begins so.
func (b *browser) quiet(own string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		b.t.Errorf("the console says: %s", e)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, own) && !strings.HasPrefix(r, "data:") && r != "about:blank" {
			b.t.Errorf("it fetches %s", r)
		}
	}
	b.errors, b.requests = nil, nil
}

// picture keeps a screenshot where WEFT_PICTURES says, to be looked at.
func (b *browser) picture(name string, whole bool) {
	b.t.Helper()
	dir := os.Getenv("WEFT_PICTURES")
	shot := chromedp.CaptureScreenshot()
	if whole && dir != "" {
		shot = chromedp.FullScreenshot(100)
	}
	png := do(b, shot)
	if len(png) < 1000 {
		b.t.Errorf("%s: a picture of %d bytes", name, len(png))
	}
	if dir != "" {
		write(b.t, filepath.Join(dir, name+".png"), png)
	}
}

// media makes the page dark or light, or the printer's.
func (b *browser) media(kind, scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// noSideways wants a page that need not be moved sideways.
func (b *browser) noSideways() {
	b.t.Helper()
	if w := eval[[]float64](b, `[document.documentElement.scrollWidth, window.innerWidth]`); w[0] > w[1] {
		wide := eval[[]string](b, `Array.from(document.querySelectorAll("body *")).filter((e) => (!e.closest(".wide") || getComputedStyle(e.closest(".wide")).overflowX === "visible") && e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 80))`)
		b.t.Errorf("the page is %v wide in a window of %v: %q", w[0], w[1], wide)
	}
}

// tabbable wants every control to be reached by the Tab key alone.
func (b *browser) tabbable() {
	b.t.Helper()
	eval[bool](b, `window.reached = new Set(); document.addEventListener("focusin", (e) => reached.add(e.target)); document.activeElement.blur(); scrollTo(0, 0); true`)
	n := eval[int](b, `window.controls = Array.from(document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')).filter((e) => e.getClientRects().length > 0 && !e.disabled && (e.tagName === "SUMMARY" || !e.closest("details:not([open])"))); controls.length`)
	for range n + 3 {
		b.press(kb.Tab)
	}
	if missed := eval[[]string](b, `controls.filter((e) => !reached.has(e)).map((e) => e.outerHTML.slice(0, 100))`); len(missed) > 0 {
		b.t.Errorf("%d of %d controls are not reached by Tab: %q", len(missed), n, missed[:min(len(missed), 5)])
	}
	if n < 5 {
		b.t.Errorf("only %d controls", n)
	}
}

// filters wants "/" to lead to the filter, the filter to filter, arrows to move.
func (b *browser) filters(word string) {
	b.t.Helper()
	const shown = `Array.from(document.querySelectorAll(".item")).filter((e) => e.getClientRects().length > 0 && !e.closest("details:not([open])")).map((e) => e.textContent)`
	before := eval[[]string](b, shown)
	eval[bool](b, `document.activeElement.blur(); true`)
	b.slash()
	if at := eval[string](b, `document.activeElement.id`); at != "filter" {
		b.t.Fatalf("/ leads to %q", at)
	}
	b.press(word)
	after := eval[[]string](b, shown)
	if len(after) == 0 || len(after) >= len(before) {
		b.t.Fatalf("the filter %q leaves %d of %d", eval[string](b, `document.getElementById("filter").value`), len(after), len(before))
	}
	for _, text := range after {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(word)) {
			b.t.Errorf("%q is shown", text)
		}
	}
	if said := eval[string](b, `document.getElementById("filtered").textContent`); !strings.Contains(said, " of ") {
		b.t.Errorf("the filter says %q", said)
	}
	b.press(kb.ArrowDown)
	first := eval[string](b, `document.activeElement.textContent`)
	b.press(kb.ArrowDown)
	second := eval[string](b, `document.activeElement.textContent`)
	b.press(kb.ArrowUp)
	again := eval[string](b, `document.activeElement.textContent`)
	if first != after[0] || len(after) > 1 && (second != after[1] || again != first) {
		b.t.Errorf("arrows move from %q to %q and back to %q", first, second, again)
	}
	b.slash()
	b.press(kb.Escape)
	if now := eval[[]string](b, shown); len(now) != len(before) {
		b.t.Errorf("Escape leaves %d of %d", len(now), len(before))
	}
}

// contrasts wants every text to stand out from its ground: 4.5 to 1, and 3 to 1 for large
// letters (WCAG 2.2, 1.4.3).
func (b *browser) contrasts(what string) {
	b.t.Helper()
	type low struct {
		Text  string
		Ratio float64
	}
	for _, l := range eval[[]low](b, contrastScript) {
		b.t.Errorf("%s: contrast %.2f of %q", what, l.Ratio, l.Text)
	}
}

const contrastScript = `(() => {
const rgb = (s) => (s.match(/[\d.]+/g) || []).map(Number);
const lum = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0.5) return c; } return [255, 255, 255]; };
const bad = [], seen = new Set();
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const text = walk.currentNode.textContent.trim(), e = walk.currentNode.parentElement;
  if (!text || ["SCRIPT", "STYLE", "title"].includes(e.tagName) || e.getClientRects().length === 0) continue;
  const s = getComputedStyle(e), svg = e.namespaceURI.includes("svg");
  const under = [ground(e)];
  if (svg) for (const r of e.ownerSVGElement.querySelectorAll("rect.card, rect.hub")) { const a = r.getBoundingClientRect(), t = e.getBoundingClientRect(); if (a.left <= t.left && a.right >= t.left && a.top <= t.top && a.bottom >= t.top) under.push(rgb(getComputedStyle(r).fill)); }
  const got = ratio(rgb(svg ? s.fill : s.color), under[under.length - 1]);
  const large = parseFloat(s.fontSize) >= 24 || parseFloat(s.fontSize) >= 18.66 && Number(s.fontWeight) >= 700;
  const key = e.className.baseVal + e.className + got.toFixed(2);
  if (got < (large ? 3 : 4.5) && !seen.has(key)) { seen.add(key); bad.push({Text: text.slice(0, 40), Ratio: got}); }
}
return bad; })()`

// cutOffScript finds texts of drawings that leave their drawing, and that lie on each other.
const cutOffScript = `(() => {
const bad = [];
for (const svg of document.querySelectorAll("svg.net, svg.board, svg.map, .curve svg")) {
  const out = svg.getBoundingClientRect();
  if (!out.width) continue;
  const texts = Array.from(svg.querySelectorAll("text")).filter((t) => t.textContent.trim()).map((t) => [t, t.getBoundingClientRect()]);
  texts.forEach(([t, a], i) => {
    if (a.left < out.left - 1 || a.right > out.right + 1 || a.top < out.top - 1 || a.bottom > out.bottom + 1) bad.push("cut off: " + t.firstChild.textContent);
    for (const [u, b] of texts.slice(i + 1)) if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) bad.push(t.firstChild.textContent + " lies on " + u.firstChild.textContent);
  });
}
return bad.slice(0, 10); })()`

// accessible wants headings without gaps, tables with headings, drawings with names.
func (b *browser) accessible() {
	b.t.Helper()
	bad := eval[[]string](b, `(() => {
const bad = [];
let last = 0;
for (const h of document.querySelectorAll("h1, h2, h3, h4")) { const n = Number(h.tagName[1]); if (n > last + 1) bad.push("heading " + h.textContent + " skips a level"); last = n; }
if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
for (const t of document.querySelectorAll("table")) if (!t.querySelector("th[scope]")) bad.push("a table without headings");
for (const s of document.querySelectorAll("svg")) if (!s.getAttribute("aria-label") || !s.querySelector("title") && !s.closest(".curve")) bad.push("a drawing without a name: " + s.outerHTML.slice(0, 60));
for (const i of document.querySelectorAll("input")) if (!i.labels.length) bad.push("an input without a label");
for (const r of document.querySelectorAll("[role=region]")) if (!r.getAttribute("aria-label")) bad.push("a region without a name");
const ids = Array.from(document.querySelectorAll("[id]"), (e) => e.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) bad.push("twice the id " + id);
for (const a of document.querySelectorAll('a[href^="#"]')) if (!document.getElementById(a.getAttribute("href").slice(1))) bad.push("a link to nowhere: " + a.getAttribute("href"));
if (document.documentElement.lang !== "en") bad.push("no language");
return bad; })()`)
	for _, x := range bad {
		b.t.Error(x)
	}
}

// TestReportInChromium looks at reports in a real browser.
func TestReportInChromium(t *testing.T) {
	b := startBrowser(t)
	dir := reportFolder(t)
	four := filepath.Join(dir, "four.html")
	weftReport(t, exitYes, "-c", filepath.Join(dir, "weft.yaml"), "-o", four, "--model", "Qwen2.5-7B", "--measured", "22.9", "--tp", "4")
	many := manyFolder(t, 128, true)
	board := filepath.Join(many, "many.html")
	weftReport(t, exitYes, "-c", filepath.Join(many, "weft.yaml"), "-o", board, "--model", "Qwen2.5-72B")
	for _, r := range []struct{ name, path, word string }{{"report", four, "kai2"}, {"report-128", board, "gpu48"}} {
		url := "file://" + r.path
		b.media("screen", "light")
		b.open(url, 1280, 900)
		b.picture(r.name, true)
		b.accessible()
		b.contrasts(r.name)
		if bad := eval[[]string](b, cutOffScript); len(bad) > 0 {
			t.Errorf("%s: %q", r.name, bad)
		}
		b.noSideways()
		b.filters(r.word)
		b.tabbable()
		b.media("screen", "dark")
		b.open(url, 1280, 900)
		b.contrasts(r.name + " dark")
		b.picture(r.name+"-dark", true)
		b.media("screen", "light")
		b.open(url, 390, 844)
		b.noSideways()
		b.picture(r.name+"-phone", true)
		b.print(url, r.name)
		b.withoutScript(url)
	}
	b.quiet("file://")
}

// TestReportPictures makes the pictures of docs/report.md and docs/watch.md: only where
// WEFT_PICTURES says where to.
func TestReportPictures(t *testing.T) {
	if os.Getenv("WEFT_PICTURES") == "" {
		t.Skip("WEFT_PICTURES names no folder for pictures")
	}
	b := startBrowser(t)
	dir := reportFolder(t)
	four, dark := filepath.Join(dir, "four.html"), filepath.Join(dir, "strix.html")
	weftReport(t, exitYes, "-c", filepath.Join(dir, "weft.yaml"), "-o", four, "--tp", "4")
	dump := filepath.Join(dir, "strix-tp.dump")
	for _, c := range demo.All() {
		if c.Name == "strix-tp" {
			write(t, dump, c.Dump())
		}
	}
	t.Chdir(dir)
	weftReport(t, exitYes, "-F", "strix-tp.dump", "-o", dark, "--model", "Qwen2.5-7B", "--measured", "29")
	many := manyFolder(t, 128, true)
	board := filepath.Join(many, "many.html")
	weftReport(t, exitYes, "-c", filepath.Join(many, "weft.yaml"), "-o", board)
	for _, p := range []struct {
		name, path, at, scheme string
		width, height          int64
	}{
		{"doc-report", four, "", "light", 1200, 1000}, {"doc-proof", four, "#proof", "light", 1200, 1000}, {"doc-dark", dark, "", "dark", 1200, 900}, {"doc-token", dark, "#token", "dark", 1200, 700},
		{"doc-phone", four, "", "light", 390, 844}, {"doc-128", board, "", "light", 1200, 900}, {"doc-128-proof", board, "#proof", "light", 1200, 1000},
	} {
		b.media("screen", p.scheme)
		b.open("file://"+p.path, p.width, p.height)
		if p.at != "" {
			eval[bool](b, `location.hash = "`+p.at+`"; true`)
		}
		if p.at == "#proof" {
			eval[bool](b, `document.querySelectorAll("#proof h3 code")[document.querySelectorAll("#proof article").length + 1].scrollIntoView(); scrollBy(0, -60); true`)
		}
		time.Sleep(200 * time.Millisecond)
		b.picture(p.name, false)
	}
}

// print wants the same light page on paper, whatever the screen is.
func (b *browser) print(url, name string) {
	b.t.Helper()
	b.media("", "dark") // the printer says itself what it is
	b.open(url, 1000, 900)
	pdf := do(b, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
	if len(pdf) < 10_000 {
		b.t.Errorf("%s: a PDF of %d bytes", name, len(pdf))
	}
	if dir := os.Getenv("WEFT_PICTURES"); dir != "" {
		write(b.t, filepath.Join(dir, name+".pdf"), pdf)
	}
	b.media("print", "dark")
	b.open(url, 760, 1000)
	if ground := eval[string](b, `getComputedStyle(document.body).backgroundColor`); ground != "rgb(255, 255, 255)" {
		b.t.Errorf("%s: paper is %s", name, ground)
	}
	b.noSideways()
	b.picture(name+"-print", true)
	b.media("screen", "light")
}

// withoutScript wants a page that says the same without script, and offers nothing that
// needs it.
func (b *browser) withoutScript(url string) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.open(url, 1280, 900)
	html := eval[string](b, `document.documentElement.outerHTML`)
	visible := eval[int](b, `Array.from(document.querySelectorAll(".filter")).filter((e) => e.getClientRects().length > 0).length`)
	if visible > 0 || !strings.Contains(html, "Findings") || strings.Contains(html, " hidden=\"\"><th") {
		b.t.Error("without script the page has a filter, or lacks rows")
	}
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{})
}

// TestHostileReportInChromium: names that try to be markup run nothing in a real browser.
func TestHostileReportInChromium(t *testing.T) {
	b := startBrowser(t)
	dir := reportFolder(t)
	for i, evil := range []string{`<script>document.title="owned"</script>`, `"><img src=x onerror=document.title='owned'>`, `</title></style><svg onload=document.title='owned'>`} {
		proof := filepath.Join(dir, "evil.json")
		p := must(os.ReadFile(proofPath(t, dir)))
		quoted, _ := json.Marshal(evil)
		write(t, proof, []byte(strings.ReplaceAll(string(p), "kai", "kai"+string(quoted[1:len(quoted)-1]))))
		out := filepath.Join(dir, fmt.Sprintf("evil%d.html", i))
		weftReport(t, exitYes, "-c", filepath.Join(dir, "weft.yaml"), "--proof", proof, "-o", out)
		b.open("file://"+out, 1280, 900)
		time.Sleep(100 * time.Millisecond)
		if title := eval[string](b, `document.title`); strings.Contains(title, "owned") {
			t.Errorf("%q: it ran", evil)
		}
		if n := eval[int](b, `document.querySelectorAll("img, script").length`); n != 1 {
			t.Errorf("%q: %d elements that are not ours", evil, n-1)
		}
		if !eval[bool](b, `document.body.textContent.includes(`+string(quoted)+`)`) {
			t.Errorf("%q is not shown as text", evil)
		}
	}
	b.quiet("file://")
}
