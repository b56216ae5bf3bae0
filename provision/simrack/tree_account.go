package simrack

// accounts is the account service; the account itself is the simulator's. IPMI is off: a
// simulated BMC answers none.
func (t *treeMaker) accounts() {
	service := root + "/AccountService"
	t.add(service, "AccountService.v1_7_0", "Account Service", object{
		"Status": enabled(), "ServiceEnabled": true, "MinPasswordLength": 8, "MaxPasswordLength": 20, "Accounts": link(service + "/Accounts"),
	})
	t.collection(service+"/Accounts", "ManagerAccountCollection", nil)
	t.add(managerURI+"/NetworkProtocol", "ManagerNetworkProtocol.v1_6_0", "Network Protocols", object{
		"Status": enabled(), "IPMI": object{"ProtocolEnabled": false, "Port": 623},
	})
}
