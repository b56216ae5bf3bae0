package redfish_test

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/rackproof/rackproof/redfish"
)

// event is a record of the log: of the BMC, at a time, with three bytes of data.
func event(id uint16, at uint32, sensorType, number, kind byte, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint16(nil, id)
	b = binary.LittleEndian.AppendUint32(append(b, 0x02), at)
	return append(append(b, 0x20, 0, 0x04, sensorType, number, kind), data...)
}

func TestIPMILog(t *testing.T) {
	b := sensorBoard(t)
	now := time.Now().Truncate(time.Second)
	at := func(ago time.Duration) uint32 { return uint32(now.Add(-ago).Unix()) }
	sel := [][]byte{
		event(1, 500, 8, 0x10, 0x6f, 0x01, 0xff, 0xff),
		event(2, at(2*time.Hour), 1, 1, 0x01, 0x59, 104, 100),
		event(3, at(time.Hour), 1, 1, 0x81, 0x59, 90, 100),
		event(4, at(time.Minute), 0x0c, 0x21, 0x6f, 0xa1, 0xff, 3),
		event(5, at(time.Minute), 0x0c, 0x99, 0x6f, 0x00, 0xff, 0xff),
		append(binary.LittleEndian.AppendUint32([]byte{6, 0, 0xc1}, at(time.Minute)), 0x57, 0x01, 0x00, 1, 2, 3, 4, 5, 6),
		append([]byte{7, 0, 0xe0}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
	}
	b.alter(func() { b.sel = sel })
	client := b.open(t)
	all, err := client.Log(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	yes, no := true, false
	want := []redfish.LogEntry{
		{ID: "0x0001", Sensor: "PSU1 Status", Kind: "Power Supply", Event: "Power Supply Failure detected", Severity: "Critical", Asserted: &yes},
		{ID: "0x0002", Time: now.Add(-2 * time.Hour).UTC(), Sensor: "CPU0 Temp", Kind: "Temperature", Event: "Upper Critical - going high (reading 104 Cel, threshold 100 Cel)", Severity: "Critical", Asserted: &yes},
		{ID: "0x0003", Time: now.Add(-time.Hour).UTC(), Sensor: "CPU0 Temp", Kind: "Temperature", Event: "Upper Critical - going high (reading 90 Cel, threshold 100 Cel)", Severity: "OK", Asserted: &no},
		{ID: "0x0004", Time: now.Add(-time.Minute).UTC(), Sensor: "DIMM B", Kind: "Memory", Event: "Uncorrectable ECC / other uncorrectable memory error (module 3)", Severity: "Critical", Asserted: &yes},
		{ID: "0x0005", Time: now.Add(-time.Minute).UTC(), Sensor: "Memory 0x99", Kind: "Memory", Event: "Correctable ECC / other correctable memory error", Severity: "Warning", Asserted: &yes},
		{ID: "0x0006", Time: now.Add(-time.Minute).UTC(), Event: "maker's record c1 of 000157: 010203040506"},
		{ID: "0x0007", Event: "maker's record e0: 0102030405060708090a0b0c0d"},
	}
	for i := range want {
		want[i].Log, want[i].Source, want[i].Raw = "sel", "sel "+want[i].ID, all[i].Raw
		if len(all[i].Raw) != 32 || !reflect.DeepEqual(all[i], want[i]) {
			t.Errorf("entry %d:\n got %+v\nwant %+v", i, all[i], want[i])
		}
	}
	since, err := client.Log(t.Context(), now.Add(-90*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range since {
		ids = append(ids, e.ID)
	}
	if want := []string{"0x0001", "0x0003", "0x0004", "0x0005", "0x0006", "0x0007"}; !slices.Equal(ids, want) {
		t.Errorf("since 90 minutes ago: %v, wanted %v: entries without a time are kept", ids, want)
	}
	if got := b.commands("0a/47"); len(got) > 0 {
		t.Error("the log was cleared")
	}
}

// The BMC's clock may be an hour late: since is told by ours.
func TestIPMILogClockSkew(t *testing.T) {
	b := startBoard(t)
	late := time.Now().Add(-time.Hour)
	b.set(0x0a, 0x48, func([]byte) ([]byte, types.CompletionCode) {
		return binary.LittleEndian.AppendUint32(nil, uint32(late.Unix())), types.CodeOK
	})
	b.alter(func() { b.sel = [][]byte{event(1, uint32(late.Add(-time.Minute).Unix()), 1, 1, 1, 0x59, 1, 1)} })
	if list, err := b.open(t).Log(t.Context(), time.Now().Add(-10*time.Minute)); err != nil || len(list) != 1 {
		t.Errorf("%d entries, %v; wanted the one of a minute ago", len(list), err)
	}
}

func TestIPMIOddLog(t *testing.T) {
	b := startBoard(t)
	for i := range uint16(20) {
		b.sel = append(b.sel, event(10+i, 0x60000000, 1, 1, 1, 0x59, 1, 1))
	}
	whole, asked := b.answers[[2]uint8{0x0a, 0x43}], 0
	b.set(0x0a, 0x43, func(req []byte) ([]byte, types.CompletionCode) {
		if asked++; asked%7 == 0 {
			return nil, types.CodeReservationCanceled // a new entry came
		}
		return whole(req)
	})
	client := b.open(t)
	if list, err := client.Log(t.Context(), time.Time{}); err != nil || len(list) != 20 {
		t.Errorf("%d entries, %v; wanted 20 over lost reservations", len(list), err)
	}
	client = b.open(t)
	b.set(0x0a, 0x43, func(req []byte) ([]byte, types.CompletionCode) {
		data, code := whole(req)
		if len(data) > 1 {
			data[0], data[1] = 10, 0 // round in a circle
		}
		return data, code
	})
	if _, err := client.Log(t.Context(), time.Time{}); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("err = %v, wanted that the log goes round", err)
	}
	b.set(0x0a, 0x43, refuse(types.CodeRequestedDataNotPresent))
	b.set(0x0a, 0x40, func([]byte) ([]byte, types.CompletionCode) { return make([]byte, 14), types.CodeOK })
	if list, err := client.Log(t.Context(), time.Time{}); err != nil || len(list) != 0 || list == nil {
		t.Errorf("an empty log reads %v, %v", list, err)
	}
	b.set(0x0a, 0x40, refuse(types.CodeInvalidCommand))
	if _, err := client.Log(t.Context(), time.Time{}); !errors.Is(err, redfish.ErrUnsupported) {
		t.Errorf("err = %v, wanted ErrUnsupported", err)
	}
}
