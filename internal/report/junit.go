package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"weft/internal/check"
	"weft/internal/trial"
)

// JUnit as build servers read it: what fails is a failure, what could not be looked at an
// error, what does not apply skipped. A warning passes and says so in its output.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr,omitempty"`
	Stamp    string      `xml:"timestamp,attr,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitSays `xml:"failure"`
	Error   *junitSays `xml:"error"`
	Skipped *junitSays `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitSays struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes findings and measured cells as test cases.
func (d Document) JUnit(w io.Writer) error {
	all := junitSuites{Name: xmlText("weft " + cmp.Or(d.Name, d.Source))}
	checks := junitSuite{Name: "check", Stamp: xmlText(strings.TrimSuffix(d.Made, "Z"))}
	for _, f := range d.Check.Findings {
		checks.add(junitCase{Class: xmlText("weft.check." + f.Check), Name: xmlText(f.Subject.String())}, f.Status, strings.TrimSpace(sentence(f)), strings.Join(f.Fix, "\n"))
	}
	for _, a := range d.Check.Accepted {
		checks.add(junitCase{Class: xmlText("weft.check." + a.Check), Name: xmlText(a.Subject.String())}, check.Skip, "accepted: "+a.Reason, "")
	}
	all.add(checks)
	if d.Proof != nil {
		all.add(junitProof(*d.Proof))
	}
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(b)+"\n")
	return err
}

func junitProof(r ProofReport) junitSuite {
	s := junitSuite{Name: xmlText("proof " + r.ID), Time: fmt.Sprintf("%.3f", r.Seconds), Stamp: xmlText(strings.TrimSuffix(r.Made, "Z"))}
	for _, c := range r.Cells {
		t, _ := trial.ByID(c.Trial)
		where := c.A.String()
		if t.Over == trial.Pairs {
			where += " → " + c.B.String()
		}
		says := "no number"
		if got, ok := c.Got.Get(); ok {
			says = t.Unit.Text(got) + after(", want ", want(t, c))
		}
		status := c.Status
		if c.Got.Known() && status == check.Unknown {
			status = check.Pass // measured, and nothing to hold it against
		}
		s.add(junitCase{Class: xmlText("weft.prove." + c.Trial), Name: xmlText(cmp.Or(where, "all nodes"))}, status, says+after(": ", cmp.Or(c.Why, c.Missing)), c.Limiter)
	}
	for _, p := range r.Problems {
		v := problemOf(p)
		status := check.Fail
		if v.Class == "warn" {
			status = check.Warn
		}
		s.add(junitCase{Class: xmlText("weft.prove." + p.Trial), Name: xmlText("problem: " + v.Where)}, status, v.Got+after(", want ", v.Want)+after(": ", v.Why), strings.Join(v.Look, "\n"))
	}
	return s
}

// add puts a case into a suite and counts it.
func (s *junitSuite) add(c junitCase, status check.Status, message, text string) {
	says := &junitSays{Message: xmlText(message), Text: xmlText(text)}
	s.Tests++
	switch status {
	case check.Fail:
		says.Type, c.Failure = "fail", says
		s.Failures++
	case check.Unknown:
		says.Type, c.Error = "unknown", says
		s.Errors++
	case check.Skip:
		c.Skipped = says
		s.Skipped++
	case check.Warn:
		c.Out = xmlText(strings.TrimSpace("warn: " + message + "\n" + text))
	}
	s.Cases = append(s.Cases, c)
}

func (all *junitSuites) add(s junitSuite) {
	all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
	all.Suites = append(all.Suites, s)
}

// xmlText leaves what XML may hold (XML 1.0, section 2.2) and no trick; encoding/xml
// escapes the rest.
func xmlText(s string) string { return cleanMarkup(s) }
