package redfish_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

// fullSensor is a record of a threshold sensor: y = (M x + B 10^k1) 10^k2.
func fullSensor(id uint16, number, kind, unit byte, m, b int, k1, k2 int, name string) []byte {
	r := make([]byte, 48)
	copy(r, []byte{byte(id), byte(id >> 8), 0x51, 0x01, 0, 0x20, 0, number, 3, 1, 0x7f, 0x68, kind, 0x01})
	binary.LittleEndian.PutUint16(r[18:], 0x3838) // the upper thresholds can be read
	r[21] = unit
	r[24], r[25], r[26], r[27] = byte(m), byte(m>>2)&0xc0, byte(b), byte(b>>2)&0xc0
	r[29] = byte(k2<<4)&0xf0 | byte(k1)&0x0f
	r[36], r[37], r[38] = 105, 100, 95
	r[47] = 0xc0 | byte(len(name))
	r = append(r, name...)
	r[4] = byte(len(r) - 5)
	return r
}

func compactSensor(id uint16, number, kind, event byte, share [2]byte, name string) []byte {
	r := make([]byte, 32)
	copy(r, []byte{byte(id), byte(id >> 8), 0x51, 0x02, 0, 0x20, 0, number, 10, 1, 0x63, 0x40, kind, event})
	binary.LittleEndian.PutUint16(r[18:], 0x00ff)
	r[20], r[23], r[24] = 0xc0, share[0], share[1]
	r[31] = 0xc0 | byte(len(name))
	r = append(r, name...)
	r[4] = byte(len(r) - 5)
	return r
}

func sensorBoard(t *testing.T) *board {
	t.Helper()
	return startBoard(t, func(b *board) {
		b.sdrs = [][]byte{
			fullSensor(1, 1, 1, 1, 1, 0, 0, 0, "CPU0 Temp"),
			fullSensor(2, 2, 2, 4, 6, 0, 0, -2, "P12V"),
			fullSensor(3, 3, 4, 18, 100, 0, 0, 0, "FAN1"),
			fullSensor(4, 4, 1, 1, 1, -50, 0, 0, "Outside"),
			fullSensor(5, 5, 1, 1, 1, 0, 0, 0, "Gone"),
			compactSensor(6, 0x10, 8, 0x6f, [2]byte{}, "PSU1 Status"),
			compactSensor(7, 0x20, 0x0c, 0x6f, [2]byte{0x12, 0x00}, "DIMM "),
			fullSensor(8, 8, 1, 1, 1, 0, 0, 0, "Asleep"),
			fullSensor(9, 9, 1, 1, 1, 0, 0, 0, "Starting"),
		}
		b.values = map[byte][]byte{
			1: {97, 0xc0, 0xc8}, 2: {202, 0xc0, 0xc0}, 3: {90, 0xc0, 0xc0}, 4: {30, 0xc0, 0xc0},
			0x10: {0, 0xc0, 0x09, 0x80}, 0x20: {0, 0xc0, 0x00, 0x80}, 0x21: {0, 0xc0, 0x02, 0x80},
			8: {0, 0x80, 0xc0}, 9: {0, 0xe0, 0xc0},
		}
	})
}

func TestIPMISensors(t *testing.T) {
	b := sensorBoard(t)
	list, err := b.open(t).Sensors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := func(v float64) *float64 { return &v }
	upper := redfish.Thresholds{UpperFatal: f(105), UpperCritical: f(100), UpperCaution: f(95)}
	want := []redfish.Sensor{
		{Name: "CPU0 Temp", Kind: redfish.Temperature, Reading: f(97), Unit: "Cel", Thresholds: upper, Health: "Warning", State: "Enabled", Context: "CPU", Source: "sdr 0x0001"},
		{Name: "P12V", Kind: redfish.Voltage, Reading: f(12.12), Unit: "V", Thresholds: redfish.Thresholds{UpperFatal: f(6.3), UpperCritical: f(6), UpperCaution: f(5.7)}, Health: "OK", State: "Enabled", Context: "CPU", Source: "sdr 0x0002"},
		{Name: "FAN1", Kind: redfish.FanSpeed, Reading: f(9000), Unit: "RPM", Thresholds: redfish.Thresholds{UpperFatal: f(10500), UpperCritical: f(10000), UpperCaution: f(9500)}, Health: "OK", State: "Enabled", Context: "CPU", Source: "sdr 0x0003"},
		{Name: "Outside", Kind: redfish.Temperature, Reading: f(-20), Unit: "Cel", Thresholds: redfish.Thresholds{UpperFatal: f(55), UpperCritical: f(50), UpperCaution: f(45)}, Health: "OK", State: "Enabled", Context: "CPU", Source: "sdr 0x0004"},
		{Name: "Gone", Kind: redfish.Temperature, Unit: "Cel", State: "Absent", Context: "CPU", Source: "sdr 0x0005"},
		{Name: "PSU1 Status", Kind: redfish.Discrete, State: "Enabled", States: []string{"Presence detected", "Power Supply input lost (AC/DC)"}, Context: "PowerSupply", Source: "sdr 0x0006"},
		{Name: "DIMM A", Kind: redfish.Discrete, State: "Enabled", Context: "PowerSupply", Source: "sdr 0x0007"},
		{Name: "DIMM B", Kind: redfish.Discrete, State: "Enabled", States: []string{"Uncorrectable ECC / other uncorrectable memory error"}, Context: "PowerSupply", Source: "sdr 0x0007"},
		{Name: "Asleep", Kind: redfish.Temperature, Unit: "Cel", State: "Disabled", Context: "CPU", Source: "sdr 0x0008"},
		{Name: "Starting", Kind: redfish.Temperature, Unit: "Cel", State: "UnavailableOffline", Context: "CPU", Source: "sdr 0x0009"},
	}
	for i := range max(len(list), len(want)) {
		if i >= len(list) || i >= len(want) || !reflect.DeepEqual(list[i], want[i]) {
			got, _ := json.Marshal(list[min(i, len(list)-1)])
			wanted, _ := json.Marshal(want[min(i, len(want)-1)])
			t.Errorf("sensor %d:\n got %s\nwant %s", i, got, wanted)
		}
	}
}

// The thresholds in force are those that the BMC tells, not those of the record.
func TestIPMIThresholdsChanged(t *testing.T) {
	b := sensorBoard(t)
	b.set(0x04, 0x27, func([]byte) ([]byte, types.CompletionCode) { return []byte{0x11, 5, 0, 0, 0, 80, 0}, types.CodeOK })
	list, err := b.open(t).Sensors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := list[0].Thresholds
	if got.LowerCaution == nil || *got.LowerCaution != 5 || got.UpperCritical == nil || *got.UpperCritical != 80 || got.UpperFatal != nil {
		t.Errorf("thresholds are %+v", got)
	}
}

// Records in pieces, a reservation that is lost, one record that cannot be read, and
// a chain that ends in itself: what comes is used.
func TestIPMIOddRepository(t *testing.T) {
	b := sensorBoard(t)
	whole, lost := b.answers[[2]uint8{0x0a, 0x23}], false
	b.set(0x0a, 0x23, func(req []byte) ([]byte, types.CompletionCode) {
		id := binary.LittleEndian.Uint16(req[2:])
		switch {
		case req[5] > 16:
			return nil, types.CodeCannotReturnRequestedDataBytes
		case id == 3 && req[4] > 0 && !lost:
			lost = true
			return nil, types.CodeReservationCanceled
		}
		data, code := whole(req)
		if id == 5 && req[4] == 0 && len(data) > 6 {
			data[6] = 40 // shorter than a full record can be
		}
		return data, code
	})
	list, err := b.open(t).Sensors(t.Context())
	var partial *redfish.PartialError
	if !errors.As(err, &partial) || len(partial.Missing) != 1 || !strings.Contains(partial.Missing[0], "record 0x0005") {
		t.Errorf("err = %v, wanted the one record that is missing", err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if want := []string{"CPU0 Temp", "P12V", "FAN1", "Outside", "PSU1 Status", "DIMM A", "DIMM B", "Asleep", "Starting"}; !slices.Equal(names, want) {
		t.Errorf("sensors are %v, wanted %v", names, want)
	}
	b = startBoard(t)
	if _, err := b.open(t).Sensors(t.Context()); err == nil {
		t.Error("a BMC that describes no sensors is no BMC without trouble")
	}
}

// A second reading of a log and of sensors asks only for what can be new.
func TestIPMIReadAgain(t *testing.T) {
	b := sensorBoard(t)
	now := uint32(time.Now().Unix())
	b.alter(func() { b.sel = [][]byte{event(1, now, 1, 1, 1, 0x59, 1, 1), event(2, now, 1, 1, 1, 0x59, 1, 1)} })
	client := b.open(t)
	read := func(wantEntries, wantAsked int) {
		t.Helper()
		before := len(b.commands("0a/43"))
		list, err := client.Log(t.Context(), time.Time{})
		if asked := len(b.commands("0a/43")) - before; err != nil || len(list) != wantEntries || asked != wantAsked {
			t.Errorf("%d entries for %d questions, %v; wanted %d for %d", len(list), asked, err, wantEntries, wantAsked)
		}
	}
	read(2, 2)
	read(2, 0)
	b.alter(func() { b.sel = append(b.sel, event(3, now, 1, 1, 1, 0x59, 1, 1)) })
	read(3, 2)                            // the last one that is known, and the new one
	b.alter(func() { b.sel = b.sel[2:] }) // cleared meanwhile
	read(1, 1)
	for range 2 {
		if _, err := client.Sensors(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.commands("04/27")); n != 4 {
		t.Errorf("thresholds were asked for %d times, wanted once for each of 4 sensors that measure", n)
	}
	client.Forget()
	if left := client.Recorded(); len(left) != 0 {
		t.Errorf("after Forget there is still %v", left)
	}
}

func TestIPMIClock(t *testing.T) {
	b := startBoard(t)
	client := b.open(t)
	b.set(0x0a, 0x48, func([]byte) ([]byte, types.CompletionCode) {
		return binary.LittleEndian.AppendUint32(nil, uint32(time.Now().Add(time.Hour).Unix())), types.CodeOK
	})
	if _, skew, err := client.Clock(t.Context()); err != nil || (skew-time.Hour).Abs() > 2*time.Second {
		t.Errorf("skew is %s, %v; wanted an hour", skew, err)
	}
	b.set(0x0a, 0x48, func([]byte) ([]byte, types.CompletionCode) { return []byte{1, 2, 0, 0}, types.CodeOK })
	if _, _, err := client.Clock(t.Context()); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("err = %v, wanted ErrUnsupported of a clock that was not set", err)
	}
}
