package redfishtest

var mediaCatalogue = []Fault{
	{
		Name: "media-image-stays", Quirk: 54, Seen: "X12STW, H13SRD",
		Doc: "after an eject Image still names it; only Inserted and ConnectedVia tell",
	},
	{
		Name: "media-property-refused", Value: "name of the property; none: every one but Image", Quirk: 56, Seen: "iLO 4: Inserted",
		Doc: "InsertMedia with the property is refused as unknown",
	},
	{
		Name: "media-empty", Quirk: 59, Seen: "DGX H100",
		Doc: "no virtual drive is listed: the licence or the feature is off",
	},
	{
		Name: "media-licence", Value: "name of the licence", Default: "DCMS", Quirk: 60, Seen: "Supermicro",
		Doc: "inserting is a 403 that names the missing licence",
	},
	{
		Name: "media-not-by-manager", Quirk: 61, Seen: "iDRAC9 from 6.00.02",
		Doc: "inserting through the manager's slots is refused, through the system's it works",
	},
	{
		Name: "media-ignored", Quirk: 62, Seen: "R670 on iDRAC10",
		Doc: "an insert or eject is answered as done and nothing moves",
	},
	{
		Name: "media-other-slot", Quirk: 62, Seen: "R670 on iDRAC10: Remote File Share 2",
		Doc: "an image lands in the last empty drive, not in the one that was addressed",
	},
	{
		Name: "media-url-length", Value: everyNumber, Default: "64", Quirk: 63, Seen: "iDRAC RAC0720",
		Doc: "an image URL longer than N characters is refused",
	},
	{
		Name: "media-url-suffix", Quirk: 63, Seen: "iDRAC",
		Doc: "an image URL that does not end in .iso or .img is refused",
	},
	{
		Name: "media-url-query", Quirk: 63, Seen: "Supermicro GB300: format not recognized",
		Doc: "an image URL with a query is refused",
	},
}
