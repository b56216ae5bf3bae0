package redfishtest

var networkCatalogue = []Fault{
	{
		Name: "network-gone", Seen: "VLAN or gateway of another network",
		Doc: "after its port was set the BMC is found nowhere any more",
	},
}
