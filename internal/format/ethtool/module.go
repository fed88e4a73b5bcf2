package ethtool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Module is the cable or transceiver as `ethtool -m DEV` tells it.
type Module struct {
	Identifier   string // QSFP28, SFP, "OSFP 8X Pluggable Transceiver"
	Connector    string // "No separable connector" for a cable with fixed ends
	Technology   string // "850 nm VCSEL", "Copper cable, passive equalized"; SFF-8636 and CMIS only
	Vendor       string
	PartNumber   string
	SerialNumber string
	Rev          string
	CableM       *float64 // nil when none is told; a zero in the EEPROM means none
	TempC        *float64
	TempHighC    *float64 // alarm threshold
	TempWarnC    *float64 // warning threshold
	VoltageV     *float64
	Lanes        []Lane   // in order; empty for passive copper
	Alarms       []string // those that are on, in ethtool's words, with "(Chan N)" where it names one
}

// Lane is one laser. Power in dBm is nil where there is no light (-inf).
type Lane struct {
	BiasMA *float64
	TxMW   *float64
	TxDBm  *float64
	RxMW   *float64
	RxDBm  *float64
}

// maxLanes bounds what a channel number in the text may make us allocate:
// CMIS 5 has four banks of eight.
const maxLanes = 32

// ParseModule reads `ethtool -m DEV` (SFF-8472, SFF-8636 and CMIS).
func ParseModule(b []byte) (Module, error) {
	var m moduleReader
	var dev string
	var err error
	if isJSON(b) {
		err = walk(b, &dev, m.json)
	} else {
		err = pairs(b, &dev, m.text)
	}
	if !m.zero && len(m.Lanes) > 0 {
		m.Lanes = m.Lanes[1:]
	}
	if err == nil && m.Identifier == "" && m.Vendor == "" {
		err = fmt.Errorf("module memory: %w", ErrNothing)
	}
	return m.Module, err
}

// moduleReader numbers lanes as the text does: from 0 in JSON, for an SFP and
// in old releases, from 1 otherwise. zero says which.
type moduleReader struct {
	Module
	zero bool
}

// text reads one line.
func (m *moduleReader) text(key, val string) error {
	base, lane := channel(key)
	switch {
	case base == "Identifier":
		m.Identifier = inParens(val)
	case base == "Connector":
		m.Connector = inParens(val)
	case base == "Transmitter technology":
		m.Technology = inParens(val)
	case base == "Vendor name":
		m.Vendor = val
	case base == "Vendor PN":
		m.PartNumber = val
	case base == "Vendor SN":
		m.SerialNumber = val
	case base == "Vendor rev":
		m.Rev = val
	case strings.HasPrefix(base, "Length (Copper") || base == "Cable assembly length":
		m.cable(val)
	case base == "Module temperature":
		m.TempC = decimal(val)
	case base == "Module temperature high alarm threshold":
		m.TempHighC = decimal(val)
	case base == "Module temperature high warning threshold":
		m.TempWarnC = decimal(val)
	case base == "Module voltage":
		m.VoltageV = decimal(val)
	case strings.HasSuffix(base, "threshold"):
	case strings.HasSuffix(base, "alarm") || strings.HasSuffix(base, "warning"):
		if on := onOff(val); on != nil && *on {
			m.Alarms = append(m.Alarms, key)
		}
	case slices.Contains(laneFlags, base):
		i := 0
		for w := range strings.SplitSeq(strings.Trim(val, "[] "), ",") {
			i++
			if strings.TrimSpace(w) == "Yes" {
				m.Alarms = append(m.Alarms, fmt.Sprintf("%s (Chan %d)", base, i))
			}
		}
	case base == "Laser bias current" || base == "Laser tx bias current":
		if l := m.lane(lane); l != nil {
			l.BiasMA = decimal(val)
		}
	case base == "Laser output power" || base == "Transmit avg optical power":
		if l := m.lane(lane); l != nil {
			l.TxMW, l.TxDBm = power(val)
		}
	case strings.HasPrefix(base, "Receiver signal") || strings.HasPrefix(base, "Rcvr signal"):
		if l := m.lane(lane); l != nil {
			l.RxMW, l.RxDBm = power(val)
		}
	}
	return nil
}

var laneFlags = []string{"Rx loss of signal", "Tx loss of signal", "Rx loss of lock", "Tx loss of lock", "Tx fault", "Tx adaptive eq fault"}

// json reads one value of the --json form, whose keys are the text's in lower
// case with underscores.
func (m *moduleReader) json(path []string, index int, v any) error {
	key := strings.TrimSuffix(path[0], "_measurement") // later releases, to end the double key
	num, isNum := v.(json.Number)
	switch {
	case key == "identifier_description":
		m.Identifier = text(v)
	case key == "connector_description":
		m.Connector = text(v)
	case key == "transmitter_technology_description":
		m.Technology = text(v)
	case key == "vendor_name":
		m.Vendor = text(v)
	case key == "vendor_pn":
		m.PartNumber = text(v)
	case key == "vendor_sn":
		m.SerialNumber = text(v)
	case key == "vendor_rev":
		m.Rev = text(v)
	case (strings.HasPrefix(key, "length_(copper") || key == "cable_assembly_length") && isNum:
		m.cable(num.String())
	case len(path) == 2 && (key == "module_temperature" || key == "module_temperature_thresholds"):
		switch strings.TrimSuffix(path[1], "_threshold") {
		case "high_alarm":
			m.TempHighC = decimal(v)
		case "high_warning":
			m.TempWarnC = decimal(v)
		}
	case len(path) == 1 && key == "module_temperature":
		m.TempC = decimal(v)
	case len(path) == 1 && key == "module_voltage":
		m.VoltageV = decimal(v)
	case len(path) == 1 && (strings.HasSuffix(key, "_alarm") || strings.HasSuffix(key, "_warning")):
		if v == true {
			m.Alarms = append(m.Alarms, named(key, index))
		}
	case len(path) == 1 && slices.Contains(laneFlags, named(key, -1)):
		if v == "Yes" {
			m.Alarms = append(m.Alarms, named(key, index))
		}
	case !isNum:
	case len(path) == 1 && (key == "laser_tx_bias_current" || key == "laser_bias_current"):
		if l := m.lane(max(index, 0)); l != nil {
			l.BiasMA = decimal(v)
		}
	case len(path) == 1 && (key == "transmit_avg_optical_power" || key == "laser_output_power"):
		if l := m.lane(max(index, 0)); l != nil {
			l.TxMW = decimal(v)
		}
	case len(path) == 2 && key == "rx_power":
		if l := m.lane(max(index, 0)); l != nil {
			l.RxMW = decimal(v)
		}
	}
	return nil
}

// named turns laser_rx_power_low_alarm, of lane index or of none, into the
// words of the text form.
func named(key string, index int) string {
	s := strings.ReplaceAll(key, "_", " ")
	if s != "" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if index >= 0 {
		s = fmt.Sprintf("%s (Chan %d)", s, index+1)
	}
	return s
}

func (m *moduleReader) lane(i int) *Lane {
	if i < 0 || i > maxLanes {
		return nil
	}
	m.zero = m.zero || i == 0
	for len(m.Lanes) <= i {
		m.Lanes = append(m.Lanes, Lane{})
	}
	return &m.Lanes[i]
}

// cable stores a length in metres. CMIS prints "> 6.3km" for the largest code.
func (m *moduleReader) cable(val string) {
	if f := decimal(val); f != nil && *f > 0 && !strings.HasSuffix(val, "km") {
		m.CableM = f
	}
}

// channel cuts "(Channel 2)" or "(Chan 2)" off a key; without one it is lane 0.
func channel(key string) (base string, lane int) {
	i := strings.LastIndex(key, "(Chan")
	if i < 0 {
		return key, 0
	}
	_, num, _ := strings.Cut(strings.TrimSuffix(key[i:], ")"), " ")
	n, err := strconv.Atoi(num)
	if err != nil {
		return key, 0
	}
	return strings.TrimSpace(key[:i]), n
}

// inParens returns QSFP28 of "0x11 (QSFP28)".
func inParens(s string) string {
	_, in, ok := strings.Cut(s, "(")
	if !ok {
		return s
	}
	return strings.TrimSuffix(in, ")")
}

// power reads "0.7633 mW / -1.17 dBm".
func power(s string) (mw, dbm *float64) {
	left, right, _ := strings.Cut(s, "/")
	right = strings.TrimSpace(right)
	if strings.Contains(left, "mW") {
		mw = decimal(strings.TrimSpace(left))
	}
	if strings.HasSuffix(right, "dBm") && !strings.Contains(right, "inf") {
		dbm = decimal(right)
	}
	return mw, dbm
}
