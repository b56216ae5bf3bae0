package lab

import "fmt"

// uri is where the Redfish BMC shows the sensor.
func (s sensor) uri() string { return chassisURI + "/Sensors/" + s.file() }

// readingTypes are Redfish's words for what a sensor measures.
var readingTypes = map[sensorKind]string{temperature: "Temperature", fanSpeed: "Rotational"}

// readings are the sensors, each for itself, and those with a number once more
// in the older Thermal.
func (t *treeMaker) readings() {
	var members []string
	var temperatures, fans []object
	for _, s := range t.sensors.list {
		if s.discrete() {
			continue
		}
		value := t.sensors.value(s.number)
		members = append(members, s.uri())
		t.add(s.uri(), "Sensor.v1_7_0", s.name, s.sensorBody(value))
		row := s.thermalRow(value)
		if s.kind == temperature {
			row["@odata.id"] = fmt.Sprintf("%s/Thermal#/Temperatures/%d", chassisURI, len(temperatures))
			temperatures = append(temperatures, row)
			continue
		}
		row["@odata.id"] = fmt.Sprintf("%s/Thermal#/Fans/%d", chassisURI, len(fans))
		fans = append(fans, row)
	}
	t.collection(chassisURI+"/Sensors", "SensorCollection", members...)
	t.add(chassisURI+"/Thermal", "Thermal.v1_7_1", "Thermal", object{"Temperatures": temperatures, "Fans": fans})
}

func (s sensor) reading(value byte) any {
	if s.absent {
		return nil
	}
	return int(value) * s.factor
}

func (s sensor) state(value byte) object {
	if s.absent {
		return absent()
	}
	return status(s.health(value))
}

func (s sensor) sensorBody(value byte) object {
	thresholds := object{}
	for _, t := range s.thresholds() {
		thresholds[t.redfish()] = object{"Reading": int(t.limit) * s.factor}
	}
	return object{
		"ReadingType": readingTypes[s.kind], "ReadingUnits": s.unit(), "Reading": s.reading(value), "PhysicalContext": s.context,
		"Thresholds": thresholds, "Status": s.state(value),
	}
}

// redfish is the threshold's name in a Sensor: caution, critical, fatal.
func (t threshold) redfish() string {
	names := [3]string{"Caution", "Critical", "Fatal"}
	if t.low {
		return "Lower" + names[t.offset/2]
	}
	return "Upper" + names[(t.offset-7)/2]
}

// thermalNames are the thresholds of a row of Thermal.
var thermalNames = map[string]string{
	"UpperCaution": "UpperThresholdNonCritical", "UpperCritical": "UpperThresholdCritical", "UpperFatal": "UpperThresholdFatal",
	"LowerCaution": "LowerThresholdNonCritical", "LowerCritical": "LowerThresholdCritical", "LowerFatal": "LowerThresholdFatal",
}

func (s sensor) thermalRow(value byte) object {
	row := object{"MemberId": fmt.Sprint(s.number), "Name": s.name, "PhysicalContext": s.context, "Status": s.state(value), "SensorNumber": s.number}
	if s.kind == temperature {
		row["ReadingCelsius"] = s.reading(value)
	} else {
		row["Reading"], row["ReadingUnits"] = s.reading(value), "RPM"
	}
	for _, t := range s.thresholds() {
		row[thermalNames[t.redfish()]] = int(t.limit) * s.factor
	}
	return row
}

// supplies are the power supplies.
func (t *treeMaker) supplies() {
	var supplies []object
	for _, s := range t.sensors.list {
		if s.kind != powerSupply {
			continue
		}
		n := int(s.instance)
		value := t.sensors.value(s.number)
		watts := 180
		if value&psuInputLost != 0 {
			watts = 0
		}
		supplies = append(supplies, object{
			"@odata.id": fmt.Sprintf("%s/Power#/PowerSupplies/%d", chassisURI, n-1), "MemberId": fmt.Sprint(n - 1), "Name": fmt.Sprintf("PSU%d", n),
			"PowerSupplyType": "AC", "PowerCapacityWatts": 2000, "PowerInputWatts": watts, "LineInputVoltage": min(watts, 1) * 230,
			"Manufacturer": Manufacturer, "Model": "LPS-2000", "SerialNumber": fmt.Sprintf("PS%02d%04d", t.spec.N, n), "PartNumber": "LPS-2000",
			"FirmwareVersion": "1.0", "Status": s.state(value), "Location": location(fmt.Sprintf("PSU%d", n), "Bay"),
		})
	}
	t.add(chassisURI+"/Power", "Power.v1_7_1", "Power", object{"PowerSupplies": supplies})
}
