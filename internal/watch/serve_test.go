package watch

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/fact"
	"weft/internal/history"
	"weft/internal/unit"
)

// hostileNode is a node whose every name is an attack on whoever shows it.
const attack = `<script>alert("weft")</script>`

// odd is a source that answers with such names.
type odd struct{ n int }

func (o *odd) Look(context.Context) (*history.Look, error) {
	o.n++
	return &history.Look{Boot: attack, GPUd: true, GPUs: []history.GPULook{{BDF: attack, Name: attack, UUID: attack, Throttle: []string{attack}}},
		Ports: []history.PortLook{{Name: attack, Device: attack, Num: 1, Netdev: attack, Layer: attack, State: "ACTIVE", Phys: attack, Rate: fact.Some(unit.Gbps),
			GIDs: []string{attack}, GIDd: true, Count: history.CountersOf(map[string]uint64{attack: uint64(o.n), "symbol_error": uint64(o.n)})}}}, nil
}
func (o *odd) Close() {}

// served starts a watch and its server, and returns its address.
func served(t *testing.T, o Order, token string) (string, *Watch) {
	t.Helper()
	if o.Every == 0 {
		o.Every = time.Second
	}
	w := New(o)
	s := &Server{Watch: w, Token: token}
	addr := "127.0.0.1:0"
	l, err := s.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	wg.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return "http://" + l.Addr().String(), w
}

// until waits for something to become true.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 60 s", what)
		}
	}
}

func get(t *testing.T, url, token string, change ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, f := range change {
		f(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func hostileOrder() Order {
	return Order{Nodes: []string{"n1"}, Source: attack, Open: func(context.Context, string) (Source, error) { return &odd{}, nil }}
}

func TestNamesOfNodesAreText(t *testing.T) {
	url, w := served(t, hostileOrder(), "")
	until(t, "the first look", func() bool { return w.Live().Totals.Ports == 1 })
	resp, page := get(t, url+"/", "")
	if strings.Contains(page, attack) || !strings.Contains(page, "alert(") {
		t.Error("a node's name is markup on the page, or not there at all")
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("the page's policy is %q", csp)
	}
	_, metrics := get(t, url+"/metrics", "")
	if !strings.Contains(metrics, `node="n1"`) || !strings.Contains(metrics, `device="<script>alert(\"weft\")</script>"`) {
		t.Errorf("metrics: %.2000s", metrics)
	}
	r, err := http.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var parts []struct{ ID, HTML string }
			if err := json.Unmarshal([]byte(data), &parts); err != nil || len(parts) == 0 {
				t.Fatalf("%v: %.200s", err, data)
			}
			for _, p := range parts {
				if strings.Contains(p.HTML, attack) {
					t.Errorf("a node's name is markup in %s", p.ID)
				}
			}
			return
		}
	}
	t.Error("no event came")
}

func TestWhoMayLook(t *testing.T) {
	const token = "correct horse battery"
	url, _ := served(t, hostileOrder(), token)
	paths := []string{"/", "/metrics", "/events", "/nothing"}
	for _, p := range paths {
		for name, given := range map[string]string{"no token": "", "a wrong one": "wrong horse battery!", "half of it": token[:10]} {
			if r, body := get(t, url+p, given); r.StatusCode != http.StatusUnauthorized || strings.Contains(body, "n1") {
				t.Errorf("%s with %s: %s", p, name, r.Status)
			}
		}
	}
	if r, _ := get(t, url+"/", token); r.StatusCode != http.StatusOK {
		t.Errorf("with the token: %s", r.Status)
	}
	if r, _ := get(t, url+"/metrics", "", func(r *http.Request) { r.SetBasicAuth("anybody", token) }); r.StatusCode != http.StatusOK {
		t.Errorf("with the token as password: %s", r.Status)
	}
	if r, body := get(t, url+"/healthz", ""); r.StatusCode != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: %s %q", r.Status, body)
	}
	if r, _ := get(t, url+"/?token="+strings.ReplaceAll(token, " ", "+"), ""); r.StatusCode != http.StatusUnauthorized {
		t.Error("a token in an address, where it would be logged, is taken")
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		if r, _ := get(t, url+"/", token, func(r *http.Request) { r.Method = method }); r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, r.Status)
		}
	}
}

func TestOtherSitesCannotLook(t *testing.T) {
	url, _ := served(t, hostileOrder(), "")
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1"} {
		if r, body := get(t, url+"/metrics", "", func(r *http.Request) { r.Host = host }); r.StatusCode != http.StatusMisdirectedRequest || strings.Contains(body, "weft_") {
			t.Errorf("as %s: %s", host, r.Status)
		}
	}
	for _, host := range []string{"localhost:1", "127.0.0.1", "[::1]:99", "localhost"} {
		if r, _ := get(t, url+"/metrics", "", func(r *http.Request) { r.Host = host }); r.StatusCode != http.StatusOK {
			t.Errorf("as %s: %s", host, r.Status)
		}
	}
}

func TestLoopbackUnlessThereIsAToken(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:80"} {
		var needs *NeedsToken
		if l, err := (&Server{}).Listen(addr); !errors.As(err, &needs) {
			t.Errorf("%s without a token: %v, %v", addr, l, err)
		}
	}
	for _, addr := range []string{":0", "127.0.0.1:0", "localhost:0"} {
		l, err := (&Server{}).Listen(addr)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("%s listens at %s", addr, l.Addr())
		}
		l.Close()
	}
	l, err := (&Server{Token: strings.Repeat("x", MinToken)}).Listen("0.0.0.0:0")
	if err != nil {
		t.Fatalf("with a token: %v", err)
	}
	l.Close()
	if _, err := (&Server{}).Listen("9817"); err == nil {
		t.Error("9817 is an address")
	}
}

func TestPagesThatFollowAreBounded(t *testing.T) {
	url, _ := served(t, hostileOrder(), "")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	var open []*http.Response
	defer func() {
		for _, r := range open {
			r.Body.Close()
		}
	}()
	refused := 0
	for range maxEvents + 5 {
		r, err := client.Get(url + "/events")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, r)
		if r.StatusCode == http.StatusServiceUnavailable {
			refused++
		}
	}
	if refused != 5 {
		t.Errorf("%d of %d were refused, want 5", refused, len(open))
	}
	if r, _ := get(t, url+"/metrics", ""); r.StatusCode != http.StatusOK {
		t.Errorf("metrics meanwhile: %s", r.Status)
	}
	for _, r := range open {
		r.Body.Close()
	}
	until(t, "places given back", func() bool {
		r, err := client.Get(url + "/events")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	url, _ := served(t, hostileOrder(), "")
	addr := strings.TrimPrefix(url, "http://")
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for range maxConns { // who connects and says nothing
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	client := &http.Client{Timeout: headerTime + 10*time.Second, Transport: &http.Transport{}}
	start := time.Now()
	r, err := client.Get(url + "/healthz")
	if err != nil {
		t.Fatalf("after those who say nothing were let go: %v", err)
	}
	r.Body.Close()
	t.Logf("answered after %.1f s", time.Since(start).Seconds())
}

// flaky is a node that answers, vanishes, sends rubbish and comes back.
type flaky struct{ n *int }

func (f flaky) Look(context.Context) (*history.Look, error) {
	*f.n++
	switch *f.n % 6 {
	case 4:
		return nil, errors.New("connection reset")
	case 5:
		return nil, &Rubbish{fmt.Errorf("not an answer of weft: %q", "\x1b]0;owned\a")}
	}
	o := &odd{*f.n}
	return o.Look(context.Background())
}
func (f flaky) Close() {}

func TestNodeThatFlapsIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	n := 0
	w := New(Order{Nodes: []string{"n1", "n2"}, Every: time.Second, Open: func(_ context.Context, node string) (Source, error) {
		if node == "n2" {
			return nil, errors.New("no route to host")
		}
		return flaky{&n}, nil
	}})
	heard, end := w.Hear()
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 9*time.Second)
	defer cancel()
	w.Run(ctx)
	l := w.Live()
	if l.Figures.Missed < 2 || l.Figures.Looks < 3 {
		t.Errorf("%d looks, %d missed", l.Figures.Looks, l.Figures.Missed)
	}
	if l.Nodes[1].State != "lost" || l.Nodes[1].Why != "no route to host" {
		t.Errorf("n2: %+v", l.Nodes[1])
	}
	said := 0
	for len(heard) > 0 {
		for _, e := range <-heard {
			if e.Node == "n2" {
				said++
			}
			if strings.ContainsAny(e.Text, "\x1b\a") {
				t.Errorf("a terminal's escape went through: %q", e.Text)
			}
		}
	}
	if said > 3 {
		t.Errorf("what n2 suffers was said %d times in 9 s", said)
	}
}

func TestStateIsKept(t *testing.T) {
	o := hostileOrder()
	o.State = t.TempDir() + "/deep/state.json"
	o.Every = time.Second
	run := func() *history.Live {
		w := New(o)
		ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer cancel()
		w.Run(ctx)
		return w.Live()
	}
	first := run()
	second := run()
	if first.Good == nil || second.Good == nil || !second.Good.When.Equal(first.Good.When) {
		t.Errorf("the good state is of %v, and after a restart of %v", first.Good, second.Good)
	}
	if len(second.Said) != 0 {
		t.Errorf("said: %v", second.Said)
	}
}

// TestEventsOutliveTheTimeForARequest: a page that follows is not cut off when the time to
// ask is over.
func TestEventsOutliveTheTimeForARequest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	t.Parallel()
	url, _ := served(t, hostileOrder(), "")
	r, err := http.Get(url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	start, last := time.Now(), time.Now()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 16<<20)
	for time.Since(start) < 2*headerTime+3*time.Second && lines.Scan() {
		last = time.Now()
	}
	if last.Sub(start) < 2*headerTime+time.Second {
		t.Errorf("the stream ended after %.1f s", last.Sub(start).Seconds())
	}
}

// TestHTTPS: page, metrics and events go over TLS, too, and HTTP/2.
func TestHTTPS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(crand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(dir+"/"+name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := hostileOrder()
	o.Every = time.Second
	s := &Server{Watch: New(o), Token: strings.Repeat("t", MinToken)}
	s.TLS.Cert, s.TLS.Key = dir+"/cert", dir+"/key"
	l, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	for _, path := range []string{"/", "/metrics", "/events"} {
		r, err := http.NewRequest(http.MethodGet, "https://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("x", s.Token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, b); err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
			t.Errorf("%s: %s %s %v", path, resp.Proto, resp.Status, err)
		}
		resp.Body.Close()
	}
	client.CloseIdleConnections()
}
