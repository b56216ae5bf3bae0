package redfishtest

import (
	"strconv"
	"time"
)

// now is the time by the BMC's clock.
func (b *BMC) now() time.Time {
	now := time.Now()
	if on, skewed := b.faults["clock-skew"]; skewed {
		seconds, _ := strconv.Atoi(on.value) // checked when set
		now = now.Add(time.Duration(seconds) * time.Second)
	}
	return now
}

// clockText is the BMC's time in the zone and form of an older text; "" is UTC.
func (b *BMC) clockText(old string) string {
	now := b.now().UTC()
	was, err := time.Parse(time.RFC3339, old)
	if err != nil || old[len(old)-1] == 'Z' {
		return now.Format(time.RFC3339)
	}
	return now.In(was.Location()).Format("2006-01-02T15:04:05-07:00")
}

// discoverClocks lets the clocks of managers run.
func (b *BMC) discoverClocks(root map[string]any) {
	for _, uri := range b.membersOf(link(root, "Managers")) {
		b.overlays[canonical(uri)] = b.overlayClock
	}
}

func (b *BMC) overlayClock(object map[string]any) {
	if old := text(object, "DateTime"); old != "" {
		object["DateTime"] = b.clockText(old)
	}
}
