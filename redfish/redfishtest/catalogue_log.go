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
	{
		Name: "diagnostics-licence", Value: "name of the licence", Default: "DCMS", Quirk: 60, Seen: "Supermicro, iDRAC LIC501",
		Doc: "collecting diagnostics is a 403 that names the missing licence",
	},
	{
		Name: "diagnostics-endless", Quirk: 69, Seen: "dumps of a controller that hangs",
		Doc: "the task of a collection runs for ever",
	},
	{
		Name: "diagnostics-no-file", Quirk: 69, Seen: "a dump service whose space is full",
		Doc: "the task of a collection ends well and there is no file",
	},
}
