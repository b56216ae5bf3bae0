package profiles

// Unit is the symbol of a unit as it stands in a profile, a finding and a report. The set is closed: see [Units].
type Unit string

// The units that profiles are written in. Binary prefixes are powers of 1024, decimal ones of 1000; "b" is a bit.
const (
	Byte Unit = "B"
	KiB  Unit = "KiB"
	MiB  Unit = "MiB"
	GiB  Unit = "GiB"
	TiB  Unit = "TiB"
	KB   Unit = "kB"
	MB   Unit = "MB"
	GB   Unit = "GB"
	TB   Unit = "TB"
	PB   Unit = "PB"

	BytePerSecond Unit = "B/s"
	KBPerSecond   Unit = "kB/s"
	MBPerSecond   Unit = "MB/s"
	GBPerSecond   Unit = "GB/s"
	TBPerSecond   Unit = "TB/s"
	KiBPerSecond  Unit = "KiB/s"
	MiBPerSecond  Unit = "MiB/s"
	GiBPerSecond  Unit = "GiB/s"
	MbPerSecond   Unit = "Mb/s"
	GbPerSecond   Unit = "Gb/s"

	MTPerSecond Unit = "MT/s"
	GTPerSecond Unit = "GT/s"

	KHz Unit = "kHz"
	MHz Unit = "MHz"
	GHz Unit = "GHz"

	Watt       Unit = "W"
	KW         Unit = "kW"
	Millivolt  Unit = "mV"
	Volt       Unit = "V"
	Celsius    Unit = "C"
	Kelvin     Unit = "K"
	RPM        Unit = "rpm"
	Percent    Unit = "%"
	IOPS       Unit = "IOPS"
	GFLOPS     Unit = "GFLOP/s"
	TFLOPS     Unit = "TFLOP/s"
	Lanes      Unit = "lanes"
	Count      Unit = "count"
	Microsecs  Unit = "us"
	Millisecs  Unit = "ms"
	Seconds    Unit = "s"
	MinuteUnit Unit = "min"
	Hours      Unit = "h"
	Days       Unit = "d"
)

// Dimension is what a unit measures. Quantities convert and compare within one dimension only.
type Dimension string

// The dimensions. A transfer (GT/s, MT/s) is no byte: what it carries depends on width and coding.
const (
	Data         Dimension = "data"
	DataRate     Dimension = "data rate"
	TransferRate Dimension = "transfer rate"
	Frequency    Dimension = "frequency"
	PowerDim     Dimension = "power"
	Voltage      Dimension = "voltage"
	Temperature  Dimension = "temperature"
	Rotation     Dimension = "rotation"
	Ratio        Dimension = "ratio"
	Operations   Dimension = "operations"
	Compute      Dimension = "compute"
	Width        Dimension = "width"
	Number       Dimension = "number"
	Duration     Dimension = "duration"
)

// scale places a unit in its dimension: base = value*factor + offset.
type scale struct {
	unit      Unit
	dimension Dimension
	factor    float64
	offset    float64
}

// scales is the table of units; the order is the order of [Units].
var scales = []scale{
	{Byte, Data, 1, 0},
	{KiB, Data, 1 << 10, 0},
	{MiB, Data, 1 << 20, 0},
	{GiB, Data, 1 << 30, 0},
	{TiB, Data, 1 << 40, 0},
	{KB, Data, 1e3, 0},
	{MB, Data, 1e6, 0},
	{GB, Data, 1e9, 0},
	{TB, Data, 1e12, 0},
	{PB, Data, 1e15, 0},

	{BytePerSecond, DataRate, 1, 0},
	{KBPerSecond, DataRate, 1e3, 0},
	{MBPerSecond, DataRate, 1e6, 0},
	{GBPerSecond, DataRate, 1e9, 0},
	{TBPerSecond, DataRate, 1e12, 0},
	{KiBPerSecond, DataRate, 1 << 10, 0},
	{MiBPerSecond, DataRate, 1 << 20, 0},
	{GiBPerSecond, DataRate, 1 << 30, 0},
	{MbPerSecond, DataRate, 1e6 / 8, 0},
	{GbPerSecond, DataRate, 1e9 / 8, 0},

	{MTPerSecond, TransferRate, 1, 0},
	{GTPerSecond, TransferRate, 1e3, 0},

	{KHz, Frequency, 1e-3, 0},
	{MHz, Frequency, 1, 0},
	{GHz, Frequency, 1e3, 0},

	{Watt, PowerDim, 1, 0},
	{KW, PowerDim, 1e3, 0},
	{Millivolt, Voltage, 1e-3, 0},
	{Volt, Voltage, 1, 0},
	{Celsius, Temperature, 1, 0},
	{Kelvin, Temperature, 1, -273.15},
	{RPM, Rotation, 1, 0},
	{Percent, Ratio, 1, 0},
	{IOPS, Operations, 1, 0},
	{GFLOPS, Compute, 1e-3, 0},
	{TFLOPS, Compute, 1, 0},
	{Lanes, Width, 1, 0},
	{Count, Number, 1, 0},
	{Microsecs, Duration, 1e-6, 0},
	{Millisecs, Duration, 1e-3, 0},
	{Seconds, Duration, 1, 0},
	{MinuteUnit, Duration, 60, 0},
	{Hours, Duration, 3600, 0},
	{Days, Duration, 86400, 0},
}

// Units lists every unit that a quantity may be written in.
func Units() []Unit {
	units := make([]Unit, len(scales))
	for i, s := range scales {
		units[i] = s.unit
	}
	return units
}

// Dimension says what u measures; it is empty for a unit that does not exist.
func (u Unit) Dimension() Dimension {
	s, _ := u.scale()
	return s.dimension
}

func (u Unit) scale() (scale, bool) {
	for i := range scales { // by index: there are many, and each is large
		if scales[i].unit == u {
			return scales[i], true
		}
	}
	return scale{}, false
}
