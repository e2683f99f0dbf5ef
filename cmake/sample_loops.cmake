# What loops over samples, trials, photons or visibilities and is compiled at the full level of optimisation: the
# beginnings of paths from tautline/, as regular expressions. The other files of the library decide, describe, print and
# call, and GCC takes half as long over them at -Og.
set(TAUTLINE_SAMPLE_LOOPS
    # Kernels of CPUs, references, and planning that goes through trials and delays.
    "device/cpu/"
    "engine/transfer"
    "stages/[a-z_]+/cpu/"
    "stages/[a-z_]+/reference"
    "stages/autocorrelate/normalise"
    "stages/channelize/(bank|history_mask)"
    "stages/dedisperse/(clean|plan/|stream_state|gpu/(hopper/channel_block|tile)_work_list|gpu/zero_dm_plan)"
    "stages/detect/(events|groups|live_detections|state|gpu/collect|gpu/peak_lists)"
    # Decoding and encoding.
    "formats/(packed_samples|record_mask|series_set|strided_source|array_layout|visibility_layout|counts/)"
    "formats/(dada|guppi|npy)/(block_stream|reader|series|times_of_rows|writer)"
    "formats/(delays|memory|mwa32t|pt3|spc|tiff|vdif)/"
    "formats/packets/(decode|encode|placement|wire_samples)"
    "formats/presto/(dat|mask)"
    "formats/psrfits/(fits_table|reader)"
    "formats/ptu/(reader|record_|writer)"
    "formats/sigproc/(reader|writers)"
    "formats/scene/filterbank_scene\\.cpp"
    "formats/uvh5/(data_writer|uvh5_)"
    "formats/measurement_set/measurement_set_"
    "formats/photon_hdf5/"
    "stream/(capture|empty_voltages|mwa_receivers|packet_voltages|packetiser|udp)"
    "stream/(voltage_s|spead_visibilities|live_photons)"
    # Of the pipelines.
    "pipeline/photons/(bin_photons|compare_curves|count_padding|curve_se|curve_stream|curve_trace|empty_counts)"
    "pipeline/photons/(fit/(curve_points|least|model|segment)|photon_counts|rolling_curves|tcspc_histogram)"
    "pipeline/plot/plot_(filterbank|photons|trials|visibilities|voltages)"
    "pipeline/report/visibility_digest"
    "pipeline/search/(channel_|coincident|cut_out\\.|dedisperse_node|empty_stretches|filterbank_source|gapless|inject)"
    "pipeline/search/(candidate_pictures|iqrm|left_out|level_steps|mask_intervals|merge_pulses|noise_of_widths)"
    "pipeline/search/(resize_channels|search_pass|trial_sink\\.)"
    "pipeline/simulation/(filterbank_maker|kernels|photon_source|pulses|random|simulated_|voltage)"
    "pipeline/voltages/(buffer_node|delay_|f_engine\\.|f_engine_delays|frequencies|gains|integrator)"
    "pipeline/voltages/(pack_times|power_sums|reduction_node|visibilities_node)")
