package simrack

import (
	"fmt"
)

// logID is the log of hardware events, as a Supermicro BMC calls it.
const logID = "Log1"

// power writes the power supplies and voltages.
func (t *treeMaker) power() {
	uri := chassisURI + "/Power"
	supplies := make([]object, len(t.m.PSUs))
	for i, p := range t.m.PSUs {
		supplies[i] = object{
			"@odata.id": fmt.Sprintf("%s#/PowerSupplies/%d", uri, i), "MemberId": fmt.Sprint(i), "Name": fmt.Sprintf("Power Supply Bay %d", p.Bay),
			"Status": enabled(), "PowerSupplyType": "AC", "LineInputVoltage": 230, "PowerCapacityWatts": p.Watts, "PowerInputWatts": 361,
			"Manufacturer": p.Maker, "Model": p.Model, "SerialNumber": p.Serial, "PartNumber": p.Model, "FirmwareVersion": "1.3",
		}
	}
	t.add(uri, "Power.v1_7_0", "Power", object{
		"PowerSupplies": supplies,
		"Voltages": []object{{
			"@odata.id": uri + "#/Voltages/0", "MemberId": "0", "Name": "12V", "ReadingVolts": 12.09, "PhysicalContext": "VoltageRegulator", "Status": enabled(),
			"LowerThresholdCritical": 10.3, "UpperThresholdCritical": 13.2,
		}},
		"Redundancy": []object{{
			"@odata.id": uri + "#/Redundancy/0", "MemberId": "0", "Name": "PowerSupply Redundancy Group 1", "Mode": "Failover", "Status": enabled(),
			"MinNumNeeded": 1, "MaxNumSupported": len(supplies),
		}},
	})
}

// thermal writes temperatures and fans with the BMC's limits.
func (t *treeMaker) thermal() {
	uri := chassisURI + "/Thermal"
	var temps []object
	temp := func(name, context string, reads, critical int) {
		i := len(temps)
		temps = append(temps, object{
			"@odata.id": fmt.Sprintf("%s#/Temperatures/%d", uri, i), "MemberId": fmt.Sprint(i), "Name": name, "PhysicalContext": context,
			"ReadingCelsius": reads, "UpperThresholdCritical": critical, "LowerThresholdCritical": 5, "Status": enabled(),
		})
	}
	temp("Inlet Temp", "SystemBoard", 23, 42)
	for i := range t.m.CPU.Sockets {
		temp(fmt.Sprintf("CPU%d Temp", i+1), "CPU", 61+i, 99)
		temp(fmt.Sprintf("P%d_DIMMA~H Temp", i+1), "Memory", 47+i, 85)
	}
	if len(t.m.GPUs) > 0 {
		temp("GPU Temp", "GPU", 66, 87)
	}
	fans := make([]object, len(t.m.Fans))
	for i, f := range t.m.Fans {
		status := enabled()
		if f.RPM == 0 {
			status["Health"] = "Critical"
		}
		fans[i] = object{
			"@odata.id": fmt.Sprintf("%s#/Fans/%d", uri, i), "MemberId": fmt.Sprint(i), "Name": f.Label, "Reading": f.RPM, "ReadingUnits": "RPM",
			"LowerThresholdCritical": 420, "PhysicalContext": "Fan", "Status": status,
		}
	}
	t.add(uri, "Thermal.v1_5_1", "Thermal", object{"Temperatures": temps, "Fans": fans})
}

// log writes the log of hardware events. Every simulated BMC has one old entry; what
// happens later the machine adds.
func (t *treeMaker) log() {
	uri := systemURI + "/LogServices/" + logID
	t.collection(systemURI+"/LogServices", "LogServiceCollection", []string{uri})
	t.add(uri, "LogService.v1_1_3", "Health Event Log Service", object{
		"Id": logID, "LogEntryType": "SEL", "ServiceEnabled": true, "MaxNumberOfRecords": 4096, "OverWritePolicy": "WrapsWhenFull",
		"DateTime": "2026-01-05T07:00:00Z", "DateTimeLocalOffset": "+00:00", "Entries": link(uri + "/Entries"), "Status": enabled(),
	})
	entry := object{
		"@odata.type": "#LogEntry.v1_7_0.LogEntry", "@odata.id": uri + "/Entries/1", "Id": "1", "Name": "Health Event Log Entry 1", "EntryType": "SEL",
		"Severity": "Warning", "Created": "2026-01-04T15:02:11Z", "EntryCode": "Assert", "OemSensorType": "AC Power On", "SensorNumber": 255,
		"Message": "[PWR-0020] First AC Power on", "MessageId": "0xA0FFFF",
	}
	t.tree[uri+"/Entries"] = object{
		"@odata.type": "#LogEntryCollection.LogEntryCollection", "@odata.id": uri + "/Entries", "Name": "Log Entries",
		"Members@odata.count": 1, "Members": []object{entry},
	}
}

// dump writes the log in which the BMC's own dumps come to lie. It is empty.
func (t *treeMaker) dump() {
	uri := managerURI + "/LogServices/Dump"
	t.collection(managerURI+"/LogServices", "LogServiceCollection", []string{uri})
	t.add(uri, "LogService.v1_2_0", "Dump Log Service", object{
		"Id": "Dump", "OverWritePolicy": "WrapsWhenFull", "Entries": link(uri + "/Entries"),
		"Actions": object{"#LogService.CollectDiagnosticData": object{"target": uri + "/Actions/LogService.CollectDiagnosticData"}},
	})
	t.collection(uri+"/Entries", "LogEntryCollection", nil)
}
