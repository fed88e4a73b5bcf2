package cli

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden holds a text against a file of testdata/design. UPDATE=1 rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(designTestdata, name)
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: UPDATE=1 go test ./internal/cli -run Design rewrites it:\n%s", path, diff)
	}
}

// designTestdata is absolute, because the tests change their folder.
var designTestdata = func() string {
	p, err := filepath.Abs("testdata/design")
	if err != nil {
		panic(err)
	}
	return p
}()

// TestDesignGolden shows whole answers: each figure can be computed from the numbers
// beside it, which internal/design's TestPrintedArithmeticIsTrue does.
func TestDesignGolden(t *testing.T) {
	for _, args := range []string{
		"4.txt --nodes 4 --gpus 4 --workload pretrain",
		"8.txt --nodes 8 --gpus 8 --workload finetune --nic ConnectX-6 --slot pcie4x16",
		"16.txt --nodes 16 --gpus 4 --workload vision",
		"64.txt --nodes 64 --gpus 8 --workload pretrain --oversubscription 2 --nic 400g --inference-nodes 8 --inference-gpus 4",
		"1024.txt --nodes 1024 --gpus 8 --workload pretrain",
		"sparks.txt --nodes 2 --gpus 1 --workload inference --slot spark --bmc=false --model-size 120B",
		"infiniband.txt --nodes 24 --gpus 8 --workload finetune --fabric ndr",
	} {
		fields := strings.Fields(args)
		code, out, errOut := weft(t, append([]string{"design"}, fields[1:]...)...)
		if code != 0 {
			t.Errorf("%s: %s", args, errOut)
			continue
		}
		golden(t, fields[0], out)
	}
}

// TestDesignFiles writes a design into a folder and holds part of it against what it
// was; none of it is overwritten.
func TestDesignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	args := []string{"design", "--nodes", "16", "--gpus", "4", "--workload", "pretrain", "-o", dir, "--svg", filepath.Join(t.TempDir(), "cluster.svg")}
	code, _, errOut := weft(t, args...)
	if code != 0 || !strings.Contains(errOut, "wrote 10 files into "+dir) {
		t.Fatalf("%d: %s", code, errOut)
	}
	for _, name := range []string{"cabling.csv", "addresses.csv", "devices.csv", "bom.csv", "lossless.txt", "frr/leaf1.conf", "frr/spine1.conf", "frr/router1.conf"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "16/"+name, string(b))
		if strings.HasSuffix(name, ".csv") {
			rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
			if err != nil || len(rows) < 5 {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
		}
	}
	if code, _, errOut := weft(t, args[:len(args)-2]...); code != 2 || !strings.Contains(errOut, "is there already") {
		t.Errorf("a second design over the first: %d: %s", code, errOut)
	}
}

// TestDesignDrawings wants every drawing to be well-formed, self-contained, and no
// larger with many nodes than a browser likes.
func TestDesignDrawings(t *testing.T) {
	for _, args := range []string{
		"--nodes 1 --gpus 8 --workload pretrain",
		"--nodes 2 --gpus 1 --workload inference",
		"--nodes 3 --gpus 1 --workload inference",
		"--nodes 8 --gpus 8 --workload pretrain",
		"--nodes 16 --gpus 4 --workload vision --inference-nodes 3",
		"--nodes 30 --gpus 4 --workload vision --fabric ndr",
		"--nodes 1024 --gpus 8 --workload pretrain",
		"--nodes 2000 --gpus 8 --workload pretrain --ports 64 --inference-nodes 40",
	} {
		file := filepath.Join(t.TempDir(), "d.svg")
		if code, _, errOut := weft(t, append(append([]string{"design"}, strings.Fields(args)...), "--svg", file)...); code != 0 {
			t.Errorf("%s: %s", args, errOut)
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 200_000 {
			t.Errorf("%s: a drawing of %d bytes", args, len(b))
		}
		texts := ""
		for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			switch x := token.(type) {
			case xml.CharData:
				texts += string(x) + "\n"
			case xml.StartElement:
				for _, a := range x.Attr {
					if a.Name.Local == "href" || a.Name.Local == "src" || strings.Contains(a.Value, "url(") {
						t.Errorf("%s: the drawing needs %s", args, a.Value)
					}
				}
			}
		}
		for _, want := range []string{"router1", "node", "GPU", "Gb/s", "management"} {
			if !strings.Contains(texts, want) {
				t.Errorf("%s: the drawing does not say %q", args, want)
			}
		}
	}
}

// TestDesignJSON wants one document with every part, configurations included.
func TestDesignJSON(t *testing.T) {
	for _, flag := range []string{"--json", "--jsonl"} {
		code, out, errOut := weft(t, "design", "--nodes", "16", "--gpus", "4", "--workload", "pretrain", flag)
		var doc struct {
			Schema  int
			Kind    string
			Fabrics []struct {
				Shape          string
				Leaves, Spines int
				Uplink         struct {
					Links    int
					LinkRate int64 `json:"link_rate"`
				}
			}
			Devices []struct {
				Name, Role, FRR string
				AS              uint32
			}
			Cables    []struct{ A, B struct{ Device, Port string } }
			Addresses []struct{ Device, Address string }
			Assumed   []struct{ Field, Source string }
			Next      string
		}
		if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil {
			t.Fatalf("%d %v: %s", code, err, errOut)
		}
		f := doc.Fabrics[0]
		if doc.Schema != 1 || doc.Kind != "design" || f.Shape != "clos" || f.Leaves != 2 || f.Spines != 2 || f.Uplink.Links != 1 || f.Uplink.LinkRate != 25e9 {
			t.Errorf("%+v", doc)
		}
		if len(doc.Cables) != 103 || len(doc.Addresses) != 107 || len(doc.Assumed) == 0 || doc.Next == "" {
			t.Errorf("%d cables, %d addresses", len(doc.Cables), len(doc.Addresses))
		}
		for _, x := range doc.Devices {
			if routes := x.AS != 0; routes != strings.Contains(x.FRR, "router bgp") {
				t.Errorf("%s: AS %d, configuration %q", x.Name, x.AS, x.FRR)
			}
		}
	}
}

// TestDesignPage runs the commands of docs/design.md and wants what it shows.
func TestDesignPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(b), "```")
	ran := 0
	for i := 1; i < len(parts); i += 2 {
		command, want, _ := strings.Cut(strings.TrimPrefix(parts[i], "\n"), "\n")
		args, ok := strings.CutPrefix(command, "$ weft ")
		if !ok {
			continue
		}
		ran++
		_, out, errOut := weft(t, strings.Fields(strings.ReplaceAll(args, "'pcie3 x4'", "pcie3x4"))...)
		if got := strings.ReplaceAll(out+errOut, "pcie3x4", "'pcie3 x4'"); got != want {
			t.Errorf("%s answers\n%s\ndocs/design.md shows\n%s", command, got, want)
		}
	}
	if ran == 0 {
		t.Error("docs/design.md shows no command")
	}
	for _, f := range []string{"--nodes", "--gpus", "--workload", "--fabric", "--slot", "--per-gpu-rate", "--inference-nodes", "--bfd", "--net", "--port-name", "--svg"} {
		if !strings.Contains(string(b), f) {
			t.Errorf("docs/design.md does not speak of %s", f)
		}
	}
}
