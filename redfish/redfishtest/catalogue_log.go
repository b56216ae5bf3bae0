package redfishtest

var logCatalogue = []Fault{
	{
		Name: "pages", Value: everyNumber, Default: "2", Quirk: 10, Seen: "DGX H100, 75 members a page",
		Doc: "a collection of more than N members comes N at a time, with a link to the next",
	},
	{
		Name: "clock-skew", Value: seconds, Default: "3600", Quirk: 87, Seen: "clocks never set: 1970, 2000",
		Doc: "the BMC's clock is off: its time, log entries and events",
	},
	{
		Name: "sse-stall", Quirk: 83, Seen: "nv-redfish 167",
		Doc: "the event stream opens and nothing ever comes",
	},
	{
		Name: "sse-unterminated", Quirk: 83, Seen: "nv-redfish 167",
		Doc: "the event stream sends megabytes of one event without its end",
	},
	{
		Name: "sse-closes", Value: duration, Default: "1s", Quirk: 83, Seen: "iDRAC-Telemetry 141",
		Doc: "the event stream is closed after a time",
	},
}
