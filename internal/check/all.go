package check

// All lists every check in the order people should read them: can we see, is it
// plugged, does it run, is it tuned.
var All = []Check{
	nodeRead,
	nodeClock,
	nodeKernel,
	nodeNames,
	nodeFirewall,
	nodePackages,
	nodeModules,
	nodeOFED,
	nodeDevices,
	nodeMemlock,
	nodeIOMMU,
	nodeASPM,
	nodeACS,
	nodeGTT,
	pcieDesign,
	pciePath,
	pcieMRRS,
	pcieNUMA,
	pcieErrors,
	portPresent,
	portUp,
	portRate,
	portLayer,
	portNetdev,
	portTwins,
	portFirmware,
	portErrors,
	portCarries,
	portShaping,
	portPause,
	portTemp,
	ibSM,
	ibWidth,
	ibMTU,
	ibIPoIB,
	ibSteering,
	ibCX3,
	roceV2,
	roceGID,
	roceGIDIndex,
	roceMTU,
	roceMTUPath,
	rocePFC,
	roceTrust,
	roceTC,
	roceECN,
	rocePause,
	roceIRDMA,
	roceMixed,
	roceSubnets,
	planeSeparate,
	planeRoute,
	gpuSeen,
	gpuDriver,
	gpuDirect,
	gpuMatrix,
	gpuClamp,
	gpuContainer,
	stackROCm,
	stackNCCL,
	stackImage,
	stackQuant,
	ncclEnv,
	ncclSymmetry,
	fabricCables,
	fabricSwitch,
	fabricSharing,
}

// ByID returns the check with that ID.
func ByID(id string) (Check, bool) {
	for _, ck := range All {
		if ck.ID == id {
			return ck, true
		}
	}
	return Check{}, false
}
